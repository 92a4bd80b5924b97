import { StoreError } from '../errors/index.js'

/** Our keys in a store that is shared with others. */
export const KEY_PREFIX = 'mcp-jobs:'
/** Time limit of one call of a store, in milliseconds, unless told otherwise. */
export const CALL_LIMIT_MS = 2_000

const LONGEST_REASON = 300

/** Why a store failed, in its own words. Callers see it, and drivers put the URL they were given into their messages. */
export function reasonOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message || cause.name : String(cause)
  return text.replace(/\/\/[^/\s]*@/g, '//***@').slice(0, LONGEST_REASON)
}

/**
 * Runs one call of a store.
 *
 * @param what for messages, such as `Redis (GET)`.
 * @param call gets a signal that aborts at the limit, so that what was given up is not done later where that can be helped.
 * @throws StoreError when the call fails or does not answer in time: some drivers wait for a lost connection for ever.
 */
export async function timed<T>(
  what: string,
  limitMs: number,
  call: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const limit = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new StoreError(`${what} did not answer within ${limitMs} ms`))
      limit.abort()
    }, limitMs)
  })
  try {
    return await Promise.race([Promise.resolve(limit.signal).then(call), late])
  } catch (cause) {
    if (cause instanceof StoreError) throw cause
    throw new StoreError(`${what} failed: ${reasonOf(cause)}`, { cause })
  } finally {
    clearTimeout(timer)
  }
}
