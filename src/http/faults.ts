import { UpstreamError } from '../errors/index.js'
import { cleanBody, upstreamWords } from './detail.js'
import type { NoAnswer, Received } from './exchange.js'
import type { ParsedBody } from './json.js'

/** What every error of one request says about it. */
export interface RequestFacts {
  readonly method: string
  readonly template: string
  /** The time limit that holds, in milliseconds: errors name it. */
  readonly limitMs: number
  readonly redact: (text: string) => string
}

/**
 * True for a status after which the same request may succeed later. 401 and 403 count: they get here only after the
 * credentials were asked for anew, and a token that is being rotated is refused for a while.
 */
export function isTransientStatus(status: number): boolean {
  return [401, 403, 408, 425, 429].includes(status) || status >= 500
}

/**
 * True for a status that says "refused, nothing was done". Not 408, which gateways send after the work was done, and not
 * 5xx. A redirect that keeps the method (307, 308) asks to send the request elsewhere, so it was not taken here; after a
 * POST, the others often mean "done, look there".
 */
export function isRefusal(status: number): boolean {
  return status === 307 || status === 308 || (status >= 400 && status < 500 && status !== 408 && status !== 499)
}

/** The error for an answer with a status that is no success. */
export function statusError(
  facts: RequestFacts,
  answer: Pick<Received, 'status' | 'headers'>,
  body: ParsedBody,
  extra: { retryAfterMs?: number | undefined; afterRefresh?: boolean; requestUrl: string },
): UpstreamError {
  const { status } = answer
  return new UpstreamError({
    ...who(facts),
    fault: 'status',
    status,
    problem: `answered ${status}${statusNote(answer, extra, facts.redact)}`,
    detail: upstreamWords(body, facts.redact),
    body: cleanBody(body, facts.redact),
    transient: isTransientStatus(status),
    noEffect: isRefusal(status),
    retryAfterMs: extra.retryAfterMs,
  })
}

function statusNote(
  { status, headers }: Pick<Received, 'status' | 'headers'>,
  { afterRefresh, requestUrl }: { afterRefresh?: boolean; requestUrl: string },
  redact: (text: string) => string,
): string {
  if (status >= 300 && status < 400) {
    const target = headers.location
    if (target === undefined || !URL.canParse(target, requestUrl)) return ', a redirect; redirects are not followed'
    const { origin, pathname } = new URL(target, requestUrl)
    return `, a redirect to ${redact(`${origin}${pathname}`).slice(0, 200)}; redirects are not followed`
  }
  return afterRefresh === true && (status === 401 || status === 403) ? ' also after the credentials were renewed' : ''
}

/** The error for a request that got no answer. */
export function noAnswerError(facts: RequestFacts, failure: NoAnswer, stopped: boolean): UpstreamError {
  if (failure.aborted) return timeoutError(facts, { stopped, sent: failure.sent })
  const code = failure.errorCode ?? 'no code'
  const problem = !failure.sent
    ? `could not be reached (${code})`
    : code.startsWith('HPE_')
      ? `answered with something that is no HTTP (${code})`
      : `closed the connection without an answer (${code})`
  return new UpstreamError({
    ...who(facts),
    fault: 'network',
    problem,
    transient: true,
    noEffect: !failure.sent,
    cause: harmless(failure, facts.redact),
  })
}

/** The error for our own limit. `stopped` says that the operation was ended from outside instead. */
export function timeoutError(
  facts: RequestFacts,
  { stopped, sent, status }: { stopped: boolean; sent: boolean; status?: number },
): UpstreamError {
  const what = status === undefined ? 'did not answer' : `answered ${status}, but its body did not arrive`
  const limit = `within ${facts.limitMs.toLocaleString('en-US')} ms`
  return new UpstreamError({
    ...who(facts),
    fault: 'timeout',
    status,
    problem: stopped ? `${what} before the operation was stopped` : `${what} ${limit}`,
    transient: true,
    noEffect: !sent,
  })
}

/** The error for an answer whose body cannot be used. */
export function bodyError(
  facts: RequestFacts,
  status: number,
  problem: string,
  { transient = true, detail, cause }: { transient?: boolean; detail?: string | undefined; cause?: unknown } = {},
): UpstreamError {
  return new UpstreamError({
    ...who(facts),
    fault: 'body',
    status,
    problem: `answered ${status} ${problem}`,
    detail,
    transient,
    noEffect: false,
    cause: harmless(cause, facts.redact),
  })
}

/** The error for credentials that could not be had: nothing was sent, or the upstream had refused what was. */
export function credentialsError(
  facts: RequestFacts,
  {
    header,
    problem,
    cause,
    refused,
  }: { header: string; problem: string; cause: unknown; refused?: number | undefined },
): UpstreamError {
  const prefix = refused === undefined ? 'was not sent' : `answered ${refused}`
  return new UpstreamError({
    ...who(facts),
    fault: refused === undefined ? 'network' : 'status',
    status: refused,
    problem: `${prefix}: the credentials (header "${header}") ${problem}`,
    transient: true,
    noEffect: true,
    cause: harmless(cause, facts.redact),
  })
}

function who({ method, template }: RequestFacts): { method: string; template: string } {
  return { method, template }
}

/**
 * A cause that is fit to be logged. The errors of HTTP clients and token sources carry whole requests, headers included, so
 * only the name, the code and the redacted message are kept.
 */
export function harmless(error: unknown, redact: (text: string) => string): Error | undefined {
  if (error === undefined) return undefined
  const cause = new Error(redact(error instanceof Error ? error.message : String(error)))
  if (error instanceof Error) {
    cause.name = error.name
    if ('code' in error && typeof error.code === 'string') Object.assign(cause, { code: error.code })
  }
  return cause
}
