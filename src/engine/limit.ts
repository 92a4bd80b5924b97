import { UpstreamError } from '../errors/index.js'

/**
 * Runs one adapter operation inside its time limit. The limit is the only thing that aborts it, and it holds even for an
 * adapter that ignores its signal.
 *
 * @throws UpstreamError (`timeout`) when the limit passes, else what the operation throws.
 */
export async function withLimit<T>(
  operation: string,
  limitMs: number,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const expired = new UpstreamError({
    fault: 'timeout',
    method: operation,
    template: 'of the adapter',
    problem: `did not answer within ${limitMs.toLocaleString('en')} ms`,
    transient: true,
    noEffect: false,
  })
  let timer: NodeJS.Timeout | undefined
  // A little later than the HTTP client's own limit, whose message says more.
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(expired)
      controller.abort(expired)
    }, limitMs + 50)
  })
  try {
    return await Promise.race([run(controller.signal), late])
  } finally {
    clearTimeout(timer)
  }
}
