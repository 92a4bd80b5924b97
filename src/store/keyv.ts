import { randomBytes } from 'node:crypto'
import { StoreError } from '../errors/index.js'
import { CALL_LIMIT_MS, KEY_PREFIX, timed } from './call.js'
import type { Backend, KeyValue, KeyvAdapterLike } from './types.js'

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

/** Per adapter: the last of the calls that wait for their turn, by key. */
const turns = new WeakMap<object, Map<string, Promise<unknown>>>()

/**
 * Lets the writers of one key go one after the other, as far as they are in this process: what Keyv cannot say atomically is true
 * among them at least, and nobody reads back what another has written meanwhile.
 */
function inTurn<T>(adapter: object, key: string, limitMs: number, work: () => Promise<T>): Promise<T> {
  const waiting = turns.get(adapter) ?? new Map<string, Promise<unknown>>()
  turns.set(adapter, waiting)
  const before = waiting.get(key)
  const mine = (async () => {
    if (before) await timed('the Keyv adapter (earlier writes of the same key)', limitMs, () => before)
    return work()
  })()
  const tail = Promise.allSettled([before, mine]).then(() => {
    if (waiting.get(key) === tail) waiting.delete(key)
  })
  waiting.set(key, tail)
  return mine
}

/** Adapters give back the text, an object around it (Keyv 6 memory), or what their own serializer made of it. */
function textOf(stored: unknown): unknown {
  const text =
    typeof stored === 'object' && stored !== null && 'value' in stored ? (stored as { value: unknown }).value : stored
  return text ?? undefined
}

function unwrap(text: unknown): Envelope | undefined {
  if (text === undefined) return undefined
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
 * that failed like a success. So a write counts when it is read back, a delete when the entry is gone, and a miss when a canary can
 * be read right after. `add` has one winner within the process and is best effort among several: Keyv has no atomic operation.
 */
export function keyvBackend(adapter: KeyvAdapterLike, options: KeyvBackendOptions): Backend {
  const { now, timeoutMs = CALL_LIMIT_MS } = options
  const absolute = (adapter as { capabilities?: { expires?: unknown } }).capabilities?.expires === true
  const stored = async (key: string): Promise<unknown> =>
    textOf(await timed('the Keyv adapter (get)', timeoutMs, () => adapter.get(KEY_PREFIX + key)))
  const read = async (key: string): Promise<string | undefined> => {
    const found = unwrap(await stored(key))
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
  const keep = async (key: string, value: string, expiresAt: number | null): Promise<void> => {
    // A second time, because another process may have written between the two.
    for (let attempt = 1; attempt <= 2; attempt++) {
      await write(key, value, expiresAt)
      if (expiresAt !== null && now() >= expiresAt) return
      if ((await read(key)) === value) return
    }
    throw new StoreError('the Keyv adapter did not keep what was written')
  }
  const erase = async (key: string): Promise<void> => {
    await timed('the Keyv adapter (delete)', timeoutMs, () => adapter.delete(KEY_PREFIX + key))
  }
  const get = async (key: string): Promise<string | undefined> => {
    const value = await read(key)
    if (value === undefined) await confirm()
    return value
  }
  const claim = async (key: string, value: string, expiresAt: number | null): Promise<boolean> => {
    if ((await get(key)) !== undefined) return false
    // Whoever's mark stands after both have written has it; the value follows under it.
    const mark = `${key}#${randomBytes(9).toString('base64url')}`
    await write(`claim:${key}`, mark, now() + 60_000)
    const standing = await read(`claim:${key}`)
    if (standing === undefined) throw new StoreError('the Keyv adapter did not keep what was written')
    if (standing !== mark) return false
    await keep(key, value, expiresAt)
    return true
  }
  const turn = <T>(key: string, work: () => Promise<T>) => inTurn(adapter, key, timeoutMs, work)
  const main: KeyValue = {
    get,
    getMany: async (keys) => {
      const values = await Promise.all(keys.map(read))
      if (values.includes(undefined)) await confirm()
      return values
    },
    set: (key, value, expiresAt) => turn(key, () => keep(key, value, expiresAt)),
    add: (key, value, expiresAt) => turn(key, () => claim(key, value, expiresAt)),
    delete: (key) =>
      turn(key, async () => {
        const before = await stored(key)
        if (before === undefined) return confirm()
        await erase(key)
        // Another process may have written anew, which is no fault.
        if ((await stored(key)) === before) throw new StoreError('the Keyv adapter did not delete what it was told to')
      }),
  }
  return {
    kind: 'keyv',
    durable: !(adapter instanceof Map),
    atomic: false,
    main,
    // What may be lost is not read back. Its claims are, because a lease that two hold is none.
    soft: { ...main, set: write, delete: erase },
    close: async () => undefined,
  }
}
