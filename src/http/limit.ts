import { performance } from 'node:perf_hooks'

/** Timers may fire this much before their time by the precise clock. What is left then is no time to send anything in. */
const EARLY_MS = 2
/** A signal that ends the operation this close to its limit is the same limit, kept by somebody else's timer. */
const SAME_MS = 25

/** The time limit of one request. */
export interface Limit {
  /** Aborted when the limit passes or the operation is stopped. */
  readonly signal: AbortSignal
  /** The limit that holds, in milliseconds. */
  readonly ms: number
  remaining(): number
  /** True when the operation was stopped from outside before its limit. */
  stopped(): boolean
  end(): void
}

/**
 * Starts the limit of one request: what its operation has left, or its own limit if that is shorter.
 *
 * @param outer ends the whole operation
 * @param deadline when the operation ends, by `performance.now()`
 * @param budgetMs the limit of the operation, for errors
 * @param ownMs the request's own limit
 */
export function startLimit(outer: AbortSignal, deadline: number, budgetMs: number, ownMs: number | undefined): Limit {
  const start = performance.now()
  const until = Math.min(deadline, start + (ownMs ?? Number.POSITIVE_INFINITY))
  const remaining = () => until - performance.now()
  const controller = new AbortController()
  const abort = () => controller.abort()
  // Timers hold 32 bits; a longer limit would fire at once.
  const timer = setTimeout(abort, Math.min(2 ** 31 - 1, Math.max(0, until - start)))
  if (outer.aborted || until - start < EARLY_MS) abort()
  else outer.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    ms: ownMs !== undefined && until < deadline ? ownMs : budgetMs,
    remaining,
    stopped: () => outer.aborted && remaining() > SAME_MS,
    end() {
      clearTimeout(timer)
      outer.removeEventListener('abort', abort)
    },
  }
}

/** Waits, at most until the signal. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    if (signal.aborted) done()
    else signal.addEventListener('abort', done, { once: true })
  })
}
