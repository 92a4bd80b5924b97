import { JobToolsError, UpstreamError } from '../errors/index.js'
import type { ConnectionPool } from './agents.js'
import { type CachedAnswer, type ConditionalCache, cacheKey, conditionOf } from './conditional.js'
import { type Credentials, CredentialsFault, type ResolvedHeaders } from './credentials.js'
import { upstreamWords } from './detail.js'
import { exchange, NoAnswer, type Received } from './exchange.js'
import { bodyError, credentialsError, noAnswerError, type RequestFacts, statusError, timeoutError } from './faults.js'
import { decodeText, isJsonType, type ParsedBody, parseBody } from './json.js'
import type { Limit } from './limit.js'
import type { Plan } from './plan.js'
import { isRateLimited, paceHints } from './retry-timing.js'
import type { Redactor } from './secrets.js'
import type { HttpAnswer, PaceHints } from './types.js'

/** What sending needs of its core. */
export interface SenderParts {
  readonly now: () => number
  readonly pool: ConnectionPool
  readonly redactor: Redactor
  readonly cache: ConditionalCache
  readonly credentials: Credentials
}

/** One attempt: an answer or a fault, and what it said about pace. */
export interface Attempt {
  readonly outcome: HttpAnswer | UpstreamError
  readonly hints: PaceHints
}

/** Sends a request once; or twice, when its credentials were refused and could be renewed. */
export type SendOnce = (
  plan: Plan,
  facts: RequestFacts,
  limit: Limit,
  /** `renewed` is set once the credentials were renewed: a request does that one time. */
  state: { renewed: boolean },
) => Promise<Attempt>

/** @returns a function that throws only InputError; upstream faults are outcomes */
export function createSender({ now, pool, redactor, cache, credentials }: SenderParts): SendOnce {
  const over = (plan: Plan, headers: Record<string, string>, limit: Limit) =>
    exchange({
      url: plan.href,
      method: plan.method,
      headers,
      body: plan.body,
      agent: plan.repeatable ? pool.kept : pool.fresh,
      limits: plan.limits,
      signal: limit.signal,
    })

  return async (plan, facts, limit, state) => {
    let refusedWith: number | undefined
    if (plan.withCredentials) redactor.learnQuery(new URL(plan.href).search)
    if (plan.isForm) redactor.learnQuery(String(plan.body))
    try {
      let resolved = await credentials.resolve(plan.headers, limit.signal)
      for (;;) {
        const headers = { ...plan.defaults, ...resolved.values }
        const key = isCacheable(plan, headers) ? cacheKey(plan.href, headers) : undefined
        const cached = key === undefined ? undefined : cache.find(key)
        const received = await over(plan, { ...headers, ...conditionOf(cached) }, limit)
        if (!plan.accepts(received.status) && canRenew(received, resolved, state, now())) {
          refusedWith = received.status
          state.renewed = true
          resolved = await credentials.renew(resolved, limit.signal)
          continue
        }
        const hints = paceHints(received.status, received.headers, now())
        const outcome =
          received.status === 304 && cached !== undefined
            ? fromCache(cached, received)
            : judge(plan, { ...facts, accept: headers.accept ?? '' }, limit, received, {
                retryAfterMs: hints.retryAfterMs,
                afterRefresh: state.renewed,
              })
        if (key !== undefined && received.status === 200 && !(outcome instanceof UpstreamError))
          cache.keep(key, outcome)
        return { outcome, hints }
      }
    } catch (error) {
      return { outcome: asFault(error, facts, limit, refusedWith), hints: {} }
    }
  }

  function canRenew(received: Received, resolved: ResolvedHeaders, state: { renewed: boolean }, time: number): boolean {
    if (state.renewed || resolved.sources.length === 0) return false
    const { status, headers } = received
    return status === 401 || (status === 403 && !isRateLimited(status, headers, time))
  }

  function asFault(error: unknown, facts: RequestFacts, limit: Limit, refused: number | undefined): UpstreamError {
    if (error instanceof NoAnswer) return noAnswerError(facts, error, limit.stopped())
    if (error instanceof CredentialsFault) {
      const { header, cause } = error
      const problem = error.aborted ? `${error.message} (${facts.limitMs.toLocaleString('en-US')} ms)` : error.message
      return credentialsError(facts, { header, problem, cause, refused })
    }
    if (JobToolsError.isInstance(error)) throw error
    // Nobody may see the errors of an HTTP client as they are: they carry the request with its headers.
    const { message } = error instanceof Error ? error : { message: String(error) }
    const failure = new NoAnswer({ aborted: false, sent: true, code: undefined, message })
    return noAnswerError(facts, failure, false)
  }

  function judge(
    plan: Plan,
    facts: RequestFacts & { accept: string },
    limit: Limit,
    received: Received,
    extra: { retryAfterMs: number | undefined; afterRefresh: boolean },
  ): HttpAnswer | UpstreamError {
    const { status, headers, cut, code } = received
    const contentType = headers['content-type']
    const text = decodeText(received.bytes, contentType)
    const body: ParsedBody = received.droppedBytes > 0 ? { kind: 'text', value: text } : parseBody(text, contentType)
    if (!plan.accepts(status)) {
      return statusError(facts, received, body, { ...extra, requestUrl: plan.href })
    }
    if (cut === 'aborted') return timeoutError(facts, { stopped: limit.stopped(), sent: true, status })
    if (cut === 'too-large') {
      const { maxBytes } = plan.limits(status)
      const problem = `with a body larger than ${maxBytes.toLocaleString('en-US')} bytes`
      return bodyError(facts, status, problem, { transient: false })
    }
    if (cut !== undefined) {
      const problem = cut === 'cut' ? 'with a body that was cut off' : 'with a body that cannot be decompressed'
      return bodyError(facts, status, `${problem} (${code ?? 'no code'})`)
    }
    // Only a success must be readable: of the other statuses that a caller accepts, the status is the answer. A log is any text.
    const mustRead = status >= 200 && status < 300 && !plan.limits(status).keepTail
    if (mustRead && body.kind === 'broken') {
      return bodyError(facts, status, 'with broken JSON', {
        detail: upstreamWords(body, redactor.redact),
        cause: body.cause,
      })
    }
    if (mustRead && body.kind === 'html' && expectsJson(facts.accept)) {
      return bodyError(facts, status, 'with HTML where JSON was due', { detail: upstreamWords(body, redactor.redact) })
    }
    return { status, headers, body: body.value, text, droppedBytes: received.droppedBytes }
  }
}

/** True when the caller asked for JSON and for nothing that a web page could be. */
function expectsJson(accept: string): boolean {
  const types = accept.split(',').map((type) => type.split(';', 1)[0]?.trim().toLowerCase() ?? '')
  return types.some(isJsonType) && !types.some((type) => type.startsWith('text/') || type === '*/*')
}

/** A GET without body and without a condition of the caller's own. */
function isCacheable(plan: Plan, headers: Readonly<Record<string, string>>): boolean {
  if (plan.method !== 'GET' || plan.body !== undefined || plan.limits(200).keepTail) return false
  return !Object.keys(headers).some((name) => name.startsWith('if-') || name === 'range')
}

/** The kept answer again, with what the 304 says anew about pace and freshness. */
function fromCache(cached: CachedAnswer, received: Received): HttpAnswer {
  const fresh = Object.entries(received.headers).filter(
    ([name]) => !name.startsWith('content-') && name !== 'transfer-encoding',
  )
  return {
    status: 200,
    headers: { ...cached.headers, ...Object.fromEntries(fresh) },
    // Parsed anew, so that no reader can change what the next one sees.
    body: parseBody(cached.text, cached.headers['content-type']).value,
    text: cached.text,
    droppedBytes: 0,
  }
}
