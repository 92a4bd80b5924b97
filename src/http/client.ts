import { performance } from 'node:perf_hooks'
import { UpstreamError } from '../errors/index.js'
import { createConnectionPool } from './agents.js'
import { createConditionalCache } from './conditional.js'
import { createCredentials } from './credentials.js'
import { type RequestFacts, timeoutError } from './faults.js'
import { type Limit, sleep, startLimit } from './limit.js'
import { planRequest } from './plan.js'
import { joinHints, retryDelay } from './retry-timing.js'
import { createRedactor } from './secrets.js'
import { type Attempt, createSender } from './sender.js'
import type { BoundHttp, HttpAnswer, HttpCore, HttpRequest, PaceHints } from './types.js'

/** How often a GET may be sent again inside its time limit. */
const MAX_RETRIES = 2

/** What {@link createHttpCore} needs. */
export interface HttpCoreOptions {
  /** Milliseconds since the epoch: for dates in headers. Time limits use the monotonic clock. */
  readonly now: () => number
  /** Gives 0 to 1: spreads retries. */
  readonly random: () => number
  /** Default `mcp-job-tools`. */
  readonly userAgent?: string
  /** How often a GET may be sent again inside its time limit. Default 2. */
  readonly retries?: number
}

/**
 * Makes the client that adapters reach their upstreams with.
 *
 * - Success is a 2xx status or one the caller accepts. Redirects are not followed.
 * - Nothing is sent twice but GET and HEAD after a transient fault, inside their time limit, and never after 429. The one
 *   exception: a request refused with 401 or 403 is sent once more after its header functions were asked for new values,
 *   since a refusal means that nothing was done.
 * - GET answers with a validator are asked for again with a condition; 304 counts as the same answer, fresh.
 * - Everything ends within the limit of `bind`, whatever the upstream does, and every failure is an UpstreamError.
 */
export function createHttpCore(options: HttpCoreOptions): HttpCore {
  const { now, random, userAgent = 'mcp-job-tools', retries = MAX_RETRIES } = options
  const redactor = createRedactor()
  const pool = createConnectionPool()
  const attemptOnce = createSender({
    now,
    pool,
    redactor,
    cache: createConditionalCache(),
    credentials: createCredentials(redactor),
  })

  const send = async (request: HttpRequest, limit: Limit, repeat: 'any' | 'unanswered'): Promise<Attempt> => {
    const plan = planRequest(request, userAgent)
    for (const secret of request.secrets ?? []) redactor.learn(secret)
    const facts: RequestFacts = { ...plan, limitMs: limit.ms, redact: redactor.redact }
    const state = { renewed: false }
    let earlier: PaceHints = {}
    for (let retry = 0; ; retry += 1) {
      if (limit.signal.aborted) throw timeoutError(facts, { stopped: limit.stopped(), sent: false })
      const attempt = await attemptOnce(plan, facts, limit, state)
      // A success makes void what the faults before it said about pace.
      if (!(attempt.outcome instanceof UpstreamError)) return attempt
      earlier = joinHints(earlier, attempt.hints)
      const failed = { outcome: attempt.outcome, hints: earlier }
      if (!plan.repeatable || retry >= retries) return failed
      const pause = retryPause(attempt.outcome, repeat, retryDelay(retry, random))
      // Half of what is left is for the answer itself.
      if (pause === undefined || pause > limit.remaining() / 2) return failed
      await sleep(pause, limit.signal)
    }
  }

  return {
    bind({ signal, timeoutMs, repeat = 'any' }) {
      const deadline = performance.now() + timeoutMs
      let hints: PaceHints = {}
      const bound: BoundHttp = {
        async send(request): Promise<HttpAnswer> {
          const limit = startLimit(signal, deadline, timeoutMs, request.timeoutMs)
          try {
            const attempt = await send(request, limit, repeat)
            hints = joinHints(hints, attempt.hints)
            if (attempt.outcome instanceof UpstreamError) throw attempt.outcome
            return attempt.outcome
          } finally {
            limit.end()
          }
        },
        hints: () => hints,
      }
      return bound
    },
    redact: redactor.redact,
    close: pool.close,
  }
}

/** The pause before a repetition, or `undefined` when the fault is not worth one. */
function retryPause(error: UpstreamError, repeat: 'any' | 'unanswered', backoff: number): number | undefined {
  if (repeat === 'unanswered' && error.status !== undefined) return undefined
  if (!error.transient || error.fault === 'timeout') return undefined
  // Refused credentials were renewed already; a rate limit is not helped by asking again.
  if (error.status === 401 || error.status === 403 || error.status === 429) return undefined
  return error.retryAfterMs ?? backoff
}
