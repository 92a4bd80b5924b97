import { StoreError } from '../errors/index.js'
import { keyvBackend } from './keyv.js'
import { type MemoryEntry, memoryBackend } from './memory.js'
import { isPostgresAdapter, postgresBackend } from './postgres.js'
import { isRedisAdapter, redisBackend } from './redis.js'
import { BACKEND, type Backend, type KeyvAdapterLike, type StoreInput } from './types.js'

const isObject = (value: unknown): value is Record<PropertyKey, unknown> => typeof value === 'object' && value !== null

/** Whether something can be asked for entries, as far as can be seen from outside. */
function isUsable(value: unknown): boolean {
  if (value instanceof Map) return true
  return isObject(value) && ['get', 'set', 'delete'].every((name) => typeof value[name] === 'function')
}

/** The adapter inside a Keyv instance, and inside the bridge that Keyv 6 puts around older adapters. */
function adapterOf(input: unknown): unknown {
  let adapter = input
  while (isObject(adapter) && !(adapter instanceof Map) && isUsable(adapter.store)) {
    const isKeyv =
      typeof adapter.get === 'function' && ('opts' in adapter || 'hooks' in adapter || 'namespace' in adapter)
    if (!isKeyv && adapter.constructor?.name !== 'KeyvBridgeAdapter') break
    adapter = adapter.store
  }
  return adapter
}

/** Our own entries in a Map of the user's. */
const inMaps = new WeakMap<Map<string, unknown>, Map<string, MemoryEntry>>()

function entriesIn(map: Map<string, unknown>): Map<string, MemoryEntry> {
  let entries = inMaps.get(map)
  if (!entries) {
    entries = new Map()
    inMaps.set(map, entries)
  }
  return entries
}

/** Whether tasks can be listed in this store. */
export function canList(input: StoreInput | undefined): boolean {
  const adapter = adapterOf(input)
  if (adapter === undefined || adapter instanceof Map) return true
  return (
    isObject(adapter) &&
    (BACKEND in adapter || isPostgresAdapter(adapter) || (isRedisAdapter(adapter) && 'scanIterator' in adapter.client))
  )
}

/**
 * Opens whatever `createJobTools({ store })` was given.
 * @throws StoreError when it is no store, or cannot be opened.
 */
export async function openBackend(
  input: StoreInput | undefined,
  options: { now: () => number; timeoutMs?: number },
): Promise<Backend> {
  const adapter = adapterOf(input)
  if (adapter === undefined) return memoryBackend(options.now)
  if (adapter instanceof Map) return memoryBackend(options.now, entriesIn(adapter))
  if (isObject(adapter) && typeof adapter[BACKEND] === 'function')
    return (adapter as { [BACKEND](): Promise<Backend> })[BACKEND]()
  if (isObject(adapter) && isRedisAdapter(adapter)) return redisBackend(adapter, options)
  if (isObject(adapter) && isPostgresAdapter(adapter)) return postgresBackend(adapter, options)
  if (isUsable(adapter)) return keyvBackend(adapter as KeyvAdapterLike, options)
  throw new StoreError(
    '`store` is neither a Keyv instance nor a Keyv storage adapter. Give one, or lmdbStore({ path }).',
  )
}
