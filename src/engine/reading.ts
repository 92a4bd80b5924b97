import type { Question, Reading } from '../define/index.js'
import { cleanText } from '../http/index.js'
import type { StoredRef } from '../store/records.js'

/** More questions at once than a person can see are not shown. */
const MOST_QUESTIONS = 20

/**
 * A ref as it may be stored.
 * @throws TypeError when an adapter gives something else: nothing could find the job again.
 */
export function checkRef(ref: unknown): StoredRef {
  if (typeof ref !== 'object' || ref === null || Array.isArray(ref))
    throw new TypeError('the adapter gave no ref for the job')
  const members = Object.entries(ref).filter(([, value]) => value !== undefined && value !== null)
  for (const [name, value] of members) {
    const fits = typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
    if (!fits) throw new TypeError(`the adapter gave a ref whose member "${name}" is neither text nor a number`)
  }
  if (members.length === 0) throw new TypeError('the adapter gave an empty ref for the job')
  return Object.fromEntries(members) as StoredRef
}

export function sameRef(one: StoredRef, other: StoredRef): boolean {
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && one[name] === other[name])
  )
}

function webUrl(value: unknown): string | undefined {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined
  const url = new URL(value)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : undefined
}

function finite(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/**
 * An adapter's reading with everything in it made fit to be shown and stored: adapters pass upstream data on, and upstreams say
 * anything. @param redact replaces known secrets.
 */
export function cleanReading(reading: Reading<StoredRef>, redact: (text: string) => string): Reading<StoredRef> {
  const text = (value: unknown) =>
    value === undefined || value === null ? undefined : redact(cleanText(String(value)))
  const done = finite(reading.progress?.done)
  const total = finite(reading.progress?.total)
  const message = text(reading.message)
  const url = webUrl(reading.url)
  const hint = finite(reading.pollIntervalMs)
  const questions = (Array.isArray(reading.questions) ? reading.questions : [])
    .slice(0, MOST_QUESTIONS)
    .map((question): Question => {
      const page = webUrl(question.url)
      return {
        key: String(question.key),
        message: text(question.message) || 'The job asks for a decision.',
        ...(question.form && !page ? { form: question.form } : {}),
        ...(page ? { url: page } : {}),
      }
    })
  return {
    phase: reading.phase,
    ...(message ? { message } : {}),
    ...(done === undefined ? {} : { progress: total === undefined ? { done } : { done, total } }),
    ...(url ? { url: redact(url) } : {}),
    ...(reading.ref === undefined ? {} : { ref: checkRef(reading.ref) }),
    ...(questions.length > 0 ? { questions } : {}),
    ...(hint === undefined ? {} : { pollIntervalMs: hint }),
  }
}

/** An error's message as a client may see it. */
export function reasonOf(error: unknown, redact: (text: string) => string): string {
  const message = error instanceof Error ? error.message : String(error)
  return redact(cleanText(message)).slice(0, 700).toWellFormed()
}
