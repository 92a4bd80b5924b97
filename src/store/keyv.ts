import { randomBytes } from 'node:crypto'
import { StoreError } from '../errors/index.js'
import type { Backend, KeyValue, KeyvAdapterLike } from './types.js'

/** Our keys in a store that is shared with others. */
export const KEY_PREFIX = 'mcp-jobs:'
const CALL_LIMIT_MS = 2_000
const CANARY = 'alive'

/** How a Keyv backend behaves. */
export interface KeyvBackendOptions {
  /** Milliseconds since the epoch. */
  now: () => number
  /** Time limit of one call of the adapter, in milliseconds. Default 2,000. */
  timeoutMs?: number | undefined
}

interface Envelope {
  v: string
  e: number | null
}

/** Rejects when an adapter does not answer: some wait for a lost connection for ever. */
export async function timed<T>(what: string, limitMs: number, call: () => T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreError(`${what} did not answer within ${limitMs} ms`)), limitMs)
  })
  try {
    return await Promise.race([Promise.resolve().then(call), late])
  } catch (cause) {
    if (cause instanceof StoreError) throw cause
    throw new StoreError(`${what} failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  } finally {
    clearTimeout(timer)
  }
}

/** Adapters give back the text, an object around it (Keyv 6 memory), or what their own serializer made of it. */
function unwrap(stored: unknown): Envelope | undefined {
  const text =
    typeof stored === 'object' && stored !== null && 'value' in stored ? (stored as { value: unknown }).value : stored
  if (text === undefined || text === null) return undefined
  if (typeof text !== 'string') throw new StoreError('the adapter gave back something other than what was written')
  try {
    const { v, e } = JSON.parse(text) as Partial<Envelope>
    if (typeof v === 'string' && (typeof e === 'number' || e === null)) return { v, e }
  } catch {
    // Reported below.
  }
  throw new StoreError('the adapter gave back something other than what was written')
}

/**
 * A backend over any Keyv storage adapter, of Keyv 5 or 6. Adapters swallow faults: a read that failed looks like a miss, a write
 * that failed like a success. So a write counts when it is read back, and a miss when a canary can be read right after.
 * `add` is best effort: Keyv has no atomic operation.
 */
export function keyvBackend(adapter: KeyvAdapterLike, options: KeyvBackendOptions): Backend {
  const { now, timeoutMs = CALL_LIMIT_MS } = options
  const absolute = (adapter as { capabilities?: { expires?: unknown } }).capabilities?.expires === true
  const read = async (key: string): Promise<string | undefined> => {
    const found = unwrap(await timed('the Keyv adapter (get)', timeoutMs, () => adapter.get(KEY_PREFIX + key)))
    return found && (found.e === null || now() < found.e) ? found.v : undefined
  }
  const write = async (key: string, value: string, expiresAt: number | null): Promise<void> => {
    const text = JSON.stringify({ v: value, e: expiresAt } satisfies Envelope)
    const third = expiresAt === null ? undefined : absolute ? expiresAt : Math.max(1, expiresAt - now())
    await timed('the Keyv adapter (set)', timeoutMs, () => adapter.set(KEY_PREFIX + key, text, third))
  }
  const confirm = async (): Promise<void> => {
    if ((await read(CANARY)) !== undefined) return
    // Never written yet, or lost with everything else: only a write that can be read back proves that the store works.
    await write(CANARY, CANARY, null)
    if ((await read(CANARY)) === undefined)
      throw new StoreError('the Keyv adapter loses what is written, or cannot be read')
  }
  const set = async (key: string, value: string, expiresAt: number | null): Promise<void> => {
    await write(key, value, expiresAt)
    if (expiresAt !== null && now() >= expiresAt) return
    if ((await read(key)) !== value) throw new StoreError('the Keyv adapter did not keep what was written')
  }
  const get = async (key: string): Promise<string | undefined> => {
    const value = await read(key)
    if (value === undefined) await confirm()
    return value
  }
  const all: KeyValue = {
    get,
    getMany: async (keys) => {
      const values = await Promise.all(keys.map(read))
      if (values.includes(undefined)) await confirm()
      return values
    },
    set,
    add: async (key, value, expiresAt) => {
      if ((await get(key)) !== undefined) return false
      // Whoever's mark stands after both have written has it; the value follows under it.
      const mark = `${key}#${randomBytes(9).toString('base64url')}`
      const claim = `claim:${key}`
      await write(claim, mark, now() + 60_000)
      const standing = await read(claim)
      if (standing === undefined) throw new StoreError('the Keyv adapter did not keep what was written')
      if (standing !== mark) return false
      await set(key, value, expiresAt)
      return true
    },
    delete: async (key) =>
      void (await timed('the Keyv adapter (delete)', timeoutMs, () => adapter.delete(KEY_PREFIX + key))),
  }
  return {
    kind: 'keyv',
    durable: !(adapter instanceof Map),
    atomic: false,
    main: all,
    soft: { ...all, set: write },
    close: async () => undefined,
  }
}
