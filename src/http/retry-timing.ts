import type { PaceHints } from './types.js'

/** Longest wait that is believed, in milliseconds: one day. What is larger is a mistake or as good as for ever. */
export const MAX_WAIT_MS = 86_400_000

// Numbers above are points in time, not spans: epoch seconds from 2001 on, epoch milliseconds from 1973 on.
const EPOCH_SECONDS = 1e9
const EPOCH_MILLISECONDS = 1e11

type HeaderMap = Readonly<Record<string, string | undefined>>

/**
 * The wait that an answer asks for with `Retry-After` (seconds, or a date judged against the answer's own `Date`, so that a
 * wrong clock on either side does no harm) or with one of the headers that give milliseconds.
 *
 * @param headers with lower-case names
 * @param now milliseconds since the epoch, for answers without `Date`
 * @returns milliseconds from 0 to {@link MAX_WAIT_MS}, or `undefined` when nothing usable is said
 */
export function retryAfterMs(headers: HeaderMap, now: number): number | undefined {
  for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const ms = plainNumber(headers[name])
    if (ms !== undefined) return clampWait(ms)
  }
  const value = headers['retry-after']?.trim()
  if (value === undefined) return undefined
  const date = parseDate(value)
  if (date !== undefined) return clampWait(date - serverTime(headers, now))
  // A header that was sent twice arrives joined; the longer wait is the safe one.
  const seconds = value.split(',').flatMap((part) => plainNumber(part) ?? [])
  return seconds.length === 0 ? undefined : clampWait(Math.max(...seconds) * 1000)
}

/**
 * Everything an answer says about pace.
 *
 * @param headers with lower-case names
 * @param now milliseconds since the epoch
 */
export function paceHints(status: number, headers: HeaderMap, now: number): PaceHints {
  const window = narrowest([...namedWindows(headers, now), ...structuredWindows(headers.ratelimit)])
  const asked = retryAfterMs(headers, now)
  // Refused, with nothing left: the start of the next window is the wait that was meant.
  const refused = status === 429 || status === 403 || status === 503
  const implied = refused && window?.remaining === 0 ? window.resetMs : undefined
  return { retryAfterMs: asked ?? implied, rateRemaining: window?.remaining, rateResetMs: window?.resetMs }
}

/** True when a 403 means "too many requests" and says nothing about the credentials. */
export function isRateLimited(status: number, headers: HeaderMap, now: number): boolean {
  if (status === 429) return true
  const hints = paceHints(status, headers, now)
  return status === 403 && (headers['retry-after'] !== undefined || hints.rateRemaining === 0)
}

/** Joins what several answers of one operation said: the longest wait, and the window with the least left. */
export function joinHints(a: PaceHints, b: PaceHints): PaceHints {
  const window = narrowest(
    [a, b].flatMap((hints) =>
      hints.rateRemaining === undefined ? [] : [{ remaining: hints.rateRemaining, resetMs: hints.rateResetMs }],
    ),
  )
  const waits = [a.retryAfterMs, b.retryAfterMs].filter((wait) => wait !== undefined)
  return {
    retryAfterMs: waits.length === 0 ? undefined : Math.max(...waits),
    rateRemaining: window?.remaining,
    rateResetMs: window?.resetMs ?? a.rateResetMs ?? b.rateResetMs,
  }
}

/**
 * The pause before a GET is repeated inside its time limit.
 *
 * @param attempt 0 for the first repetition
 * @param random gives 0 to 1: half of the pause is left to chance, so that many readers do not return together
 * @returns milliseconds, at most 4,000
 */
export function retryDelay(attempt: number, random: () => number): number {
  const full = Math.min(4_000, 200 * 2 ** Math.max(0, attempt))
  const chance = random()
  // A source that gives anything else must not make the pause vanish: `setTimeout` takes NaN for zero.
  return Math.round(full / 2 + (full / 2) * (chance >= 0 && chance <= 1 ? chance : 1))
}

interface Window {
  readonly remaining: number | undefined
  readonly resetMs: number | undefined
}

function narrowest(windows: readonly Window[]): Window | undefined {
  const left = (window: Window) => window.remaining ?? Number.POSITIVE_INFINITY
  return [...windows].sort((a, b) => left(a) - left(b) || (b.resetMs ?? 0) - (a.resetMs ?? 0))[0]
}

/** The windows in single headers: `x-ratelimit-remaining`, `ratelimit-reset`, `x-rate-limit-remaining` and their like. */
function namedWindows(headers: HeaderMap, now: number): Window[] {
  const windows: Window[] = []
  for (const prefix of ['x-ratelimit', 'ratelimit', 'x-rate-limit', 'rate-limit']) {
    // The suffix is OpenAI's, which counts requests and tokens apart.
    for (const suffix of ['', '-requests']) {
      const remaining = plainNumber(headers[`${prefix}-remaining${suffix}`])
      const resetMs = resetIn(headers[`${prefix}-reset${suffix}`], headers, now)
      if (remaining !== undefined || resetMs !== undefined) windows.push({ remaining, resetMs })
    }
  }
  return windows
}

/** The IETF `RateLimit` field: `"default";r=50;t=30`, and its older form `limit=100, remaining=50, reset=30`. */
function structuredWindows(value: string | undefined): Window[] {
  if (value === undefined) return []
  const number = (text: string, key: string) =>
    plainNumber(new RegExp(`(?:^|[;,\\s])${key}\\s*=\\s*(\\d{1,15})(?![\\d.])`, 'i').exec(text)?.[1])
  const seconds = (delta: number | undefined) => (delta === undefined ? undefined : clampWait(delta * 1000))
  const items = /(?:^|[;,\s])remaining\s*=/i.test(value) ? [value] : value.split(',')
  return items.flatMap((item) => {
    const remaining = number(item, 'r') ?? number(item, 'remaining')
    const resetMs = seconds(number(item, 't') ?? number(item, 'reset'))
    return remaining === undefined && resetMs === undefined ? [] : [{ remaining, resetMs }]
  })
}

/** A reset header as a span: it holds seconds from now, epoch seconds or milliseconds, a date, or `1m30s`. */
function resetIn(value: string | undefined, headers: HeaderMap, now: number): number | undefined {
  if (value === undefined) return undefined
  const number = plainNumber(value)
  if (number !== undefined) {
    if (number >= EPOCH_MILLISECONDS) return clampWait(number - serverTime(headers, now))
    if (number >= EPOCH_SECONDS) return clampWait(number * 1000 - serverTime(headers, now))
    return clampWait(number * 1000)
  }
  const date = parseDate(value.trim())
  return date === undefined ? parseSpan(value.trim()) : clampWait(date - serverTime(headers, now))
}

function parseSpan(value: string): number | undefined {
  const match = /^(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9}(?:\.\d{1,9})?)s)?(?:(\d{1,12}(?:\.\d{1,9})?)ms)?$/.exec(
    value,
  )
  if (match === null || value === '') return undefined
  const [hours = 0, minutes = 0, seconds = 0, ms = 0] = match.slice(1).map((part) => Number(part ?? 0))
  return clampWait(((hours * 60 + minutes) * 60 + seconds) * 1000 + ms)
}

function serverTime(headers: HeaderMap, now: number): number {
  return parseDate(headers.date?.trim() ?? '') ?? now
}

function plainNumber(value: string | undefined): number | undefined {
  const text = value?.trim() ?? ''
  if (!/^\d{1,300}(?:\.\d{1,300})?$/.test(text)) return undefined
  return Number(text)
}

const IMF = /^[a-z]{3}, \d{1,2} [a-z]{3} \d{4} \d{2}:\d{2}:\d{2} (?:GMT|UTC)$/i
const RFC_850 = /^[a-z]{6,9}, \d{2}-[a-z]{3}-\d{2} \d{2}:\d{2}:\d{2} GMT$/i
const ASCTIME = /^[a-z]{3} [a-z]{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/i
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$/i

/** The three forms of an HTTP date and ISO 8601, as milliseconds. `Date.parse` alone would also take "soon 5". */
function parseDate(value: string): number | undefined {
  let time = Number.NaN
  const iso = ISO.exec(value)
  if (IMF.test(value) || RFC_850.test(value)) time = Date.parse(value)
  else if (ASCTIME.test(value)) time = Date.parse(`${value} GMT`)
  // Without a zone it is UTC, not the zone of this machine.
  else if (iso !== null) time = Date.parse(iso[1] === undefined ? `${value}Z` : value)
  return Number.isFinite(time) ? time : undefined
}

function clampWait(ms: number): number {
  return Math.min(MAX_WAIT_MS, Math.max(0, Math.round(ms)))
}
