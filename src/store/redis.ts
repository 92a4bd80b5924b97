import { CALL_LIMIT_MS, KEY_PREFIX, timed } from './call.js'
import type { Backend, Bus, KeyValue } from './types.js'

/** The part of a node-redis client (4 or 5) that is used. */
interface RedisClient {
  get(key: string): Promise<string | null>
  mGet?(keys: string[]): Promise<(string | null)[]>
  set(key: string, value: string, options?: { PX: number }): Promise<unknown>
  del(key: string): Promise<unknown>
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  publish(channel: string, message: string): Promise<unknown>
  scanIterator?(options: { MATCH: string; COUNT: number }): AsyncIterable<string | string[]>
  duplicate?(): RedisClient & {
    connect(): Promise<unknown>
    subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
    on(event: 'error', listener: (error: unknown) => void): unknown
    destroy?(): void
    disconnect?(): Promise<void>
  }
}

/** A `@keyv/redis` adapter, as far as it is used. */
export interface RedisAdapter {
  readonly client: RedisClient
  getClient?(): Promise<RedisClient>
}

/** Whether an adapter is that of `@keyv/redis`. */
export function isRedisAdapter(adapter: object): adapter is RedisAdapter {
  const client = (adapter as { client?: unknown }).client
  return typeof client === 'object' && client !== null && 'eval' in client && 'publish' in client
}

const SCAN_COUNT = 500
const CHANNEL = `${KEY_PREFIX}changes`

/**
 * Writes where nothing live is. An entry is its expiry, a colon, and the value; expiry is judged here and not left to Redis alone, so
 * that all replicas go by the same clock as for everything else.
 */
const ADD = `
local standing = redis.call('GET', KEYS[1])
if standing then
  local expiry = string.match(standing, '^(%d*):')
  if expiry == '' or tonumber(expiry) > tonumber(ARGV[2]) then return 0 end
end
if ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[1]) else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3]) end
return 1`

/** Redis's glob characters, taken literally. Other keys of the same Redis must never be listed as ours. */
function literal(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, '\\$&')
}

/**
 * A backend over Redis, by the client of the `@keyv/redis` adapter that the user has. Every call has a time limit: the client
 * queues calls for a lost connection without an end.
 */
export function redisBackend(
  adapter: RedisAdapter,
  options: { now: () => number; timeoutMs?: number | undefined },
): Backend {
  const { now, timeoutMs = CALL_LIMIT_MS } = options
  // `getClient` connects on first use.
  const call = <T>(what: string, run: (client: RedisClient) => Promise<T>): Promise<T> =>
    timed(`Redis (${what})`, timeoutMs, async () => run(adapter.getClient ? await adapter.getClient() : adapter.client))
  const live = (stored: string | null | undefined): string | undefined => {
    if (stored === null || stored === undefined) return undefined
    const colon = stored.indexOf(':')
    const expiresAt = stored.slice(0, colon)
    return expiresAt === '' || now() < Number(expiresAt) ? stored.slice(colon + 1) : undefined
  }
  const entry = (value: string, expiresAt: number | null) => `${expiresAt ?? ''}:${value}`
  const lifetime = (expiresAt: number | null) =>
    expiresAt === null ? undefined : Math.max(1, Math.ceil(expiresAt - now()))
  const all: KeyValue = {
    get: async (key) => live(await call('GET', (client) => client.get(KEY_PREFIX + key))),
    getMany: async (keys) => {
      if (keys.length === 0) return []
      const names = keys.map((key) => KEY_PREFIX + key)
      const found = await call(
        'MGET',
        (client) => client.mGet?.(names) ?? Promise.all(names.map((name) => client.get(name))),
      )
      return found.map(live)
    },
    set: async (key, value, expiresAt) => {
      const px = lifetime(expiresAt)
      await call('SET', (client) =>
        client.set(KEY_PREFIX + key, entry(value, expiresAt), px === undefined ? undefined : { PX: px }),
      )
    },
    add: async (key, value, expiresAt) => {
      const px = lifetime(expiresAt)
      const args = [entry(value, expiresAt), String(now()), px === undefined ? '' : String(px)]
      return (await call('EVAL', (client) => client.eval(ADD, { keys: [KEY_PREFIX + key], arguments: args }))) === 1
    },
    delete: async (key) => void (await call('DEL', (client) => client.del(KEY_PREFIX + key))),
  }
  const canScan = 'scanIterator' in adapter.client
  return {
    kind: 'redis',
    durable: true,
    atomic: true,
    main: all,
    soft: all,
    keys: canScan ? (prefix) => scan(call, prefix, all) : undefined,
    bus: 'duplicate' in adapter.client ? redisBus(call) : undefined,
    // The connection is the user's.
    close: async () => undefined,
  }
}

type Call = <T>(what: string, run: (client: RedisClient) => Promise<T>) => Promise<T>

async function* scan(call: Call, prefix: string, space: KeyValue): AsyncIterable<string> {
  const found = await call('SCAN', async (client) =>
    client.scanIterator?.({ MATCH: `${literal(KEY_PREFIX + prefix)}*`, COUNT: SCAN_COUNT }),
  )
  // A scan may show a key twice.
  const seen = new Set<string>()
  for await (const batch of found ?? []) {
    const names = (Array.isArray(batch) ? batch : [batch])
      .map((name) => name.slice(KEY_PREFIX.length))
      .filter((name) => !seen.has(name))
    const values = await space.getMany(names)
    for (const [at, name] of names.entries()) {
      seen.add(name)
      if (values[at] !== undefined) yield name
    }
  }
}

/** Pub/sub over Redis. Messages may be lost: listeners look at their own pace as well. */
function redisBus(call: Call): Bus {
  return {
    publish: async (message) => void (await call('PUBLISH', (client) => client.publish(CHANNEL, message))),
    subscribe: async (listener) => {
      const subscriber = await call('SUBSCRIBE', async (client) => {
        const own = client.duplicate?.()
        // A connection that breaks reconnects by itself; until then, looks go on without it.
        own?.on('error', () => undefined)
        await own?.connect()
        await own?.subscribe(CHANNEL, listener)
        return own
      })
      return async () => {
        if (subscriber?.destroy) subscriber.destroy()
        else await subscriber?.disconnect?.()
      }
    },
  }
}
