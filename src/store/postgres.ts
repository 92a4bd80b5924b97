import { CALL_LIMIT_MS, timed } from './call.js'
import type { Backend, Bus, KeyValue } from './types.js'

/** A `@keyv/postgres` adapter, as far as it is used. */
export interface PostgresAdapter {
  readonly opts: { readonly dialect?: string; readonly uri?: string }
  query(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>
}

/** Whether an adapter is that of `@keyv/postgres`. */
export function isPostgresAdapter(adapter: object): adapter is PostgresAdapter {
  const { query, opts } = adapter as Partial<PostgresAdapter>
  return typeof query === 'function' && opts?.dialect === 'postgres'
}

const PAGE = 500
/** Expired rows are dropped at most this often, at most so many at a time, along with a write. */
const CLEAN_EVERY_MS = 60_000
const CLEAN_STEP = 200
const CHANNEL = 'mcp_job_tools'

const TABLE =
  'CREATE TABLE IF NOT EXISTS mcp_job_tools (key text COLLATE "C" PRIMARY KEY, value text NOT NULL, expires_at bigint)'
const INDEX =
  'CREATE INDEX IF NOT EXISTS mcp_job_tools_expiry ON mcp_job_tools (expires_at) WHERE expires_at IS NOT NULL'
const LIVE = '(expires_at IS NULL OR expires_at > $2)'
const SELECT = `SELECT key, value FROM mcp_job_tools WHERE key = ANY($1) AND ${LIVE}`
const UPSERT = `INSERT INTO mcp_job_tools (key, value, expires_at) VALUES ($1, $2, $3)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`
const ADD = `${UPSERT} WHERE mcp_job_tools.expires_at <= $4 RETURNING key`
const LIST = `SELECT key FROM mcp_job_tools WHERE key LIKE $1 ESCAPE '!' AND ${LIVE} AND key > $3 ORDER BY key LIMIT ${PAGE}`
const CLEAN = `DELETE FROM mcp_job_tools WHERE key IN (SELECT key FROM mcp_job_tools WHERE expires_at <= $1 LIMIT ${CLEAN_STEP})`

/** Postgres has no NUL in its texts; JSON never holds one either, but a value may. */
const encode = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\u0000', '\\0')
const decode = (text: string) => text.replace(/\\(.)/g, (_, escaped: string) => (escaped === '0' ? '\u0000' : escaped))

/**
 * A backend over Postgres, by the connections of the `@keyv/postgres` adapter that the user has, in a table of its own
 * (`mcp_job_tools`), made where it is missing.
 */
export function postgresBackend(
  adapter: PostgresAdapter,
  options: { now: () => number; timeoutMs?: number | undefined },
): Backend {
  const { now, timeoutMs = CALL_LIMIT_MS } = options
  let ready: Promise<unknown> | undefined
  let cleanedAt = Number.NEGATIVE_INFINITY
  const prepare = () => {
    ready ??= createTable(adapter).catch((error: unknown) => {
      ready = undefined
      throw error
    })
    return ready
  }
  const query = (what: string, sql: string, values: unknown[]) =>
    timed(`Postgres (${what})`, timeoutMs, async () => {
      await prepare()
      return adapter.query(sql, values)
    })
  const clean = () => {
    if (now() - cleanedAt < CLEAN_EVERY_MS && now() >= cleanedAt) return
    cleanedAt = now()
    // Nobody waits for it, and the next write tries again.
    query('DELETE', CLEAN, [now()]).catch(() => undefined)
  }
  const getMany = async (keys: readonly string[]) => {
    const rows = await query('SELECT', SELECT, [keys.map(encode), now()])
    const values = new Map(rows.map((row) => [decode(String(row.key)), decode(String(row.value))]))
    return keys.map((key) => values.get(key))
  }
  const all: KeyValue = {
    get: async (key) => (await getMany([key]))[0],
    getMany,
    set: async (key, value, expiresAt) => {
      await query('INSERT', UPSERT, [encode(key), encode(value), expiresAt])
      clean()
    },
    add: async (key, value, expiresAt) => {
      const rows = await query('INSERT', ADD, [encode(key), encode(value), expiresAt, now()])
      clean()
      return rows.length > 0
    },
    delete: async (key) => void (await query('DELETE', 'DELETE FROM mcp_job_tools WHERE key = $1', [encode(key)])),
  }
  async function* keys(prefix: string): AsyncIterable<string> {
    const pattern = `${encode(prefix).replace(/[!%_]/g, '!$&')}%`
    for (let last = ''; ; ) {
      const rows = await query('SELECT', LIST, [pattern, now(), last])
      for (const row of rows) yield decode(String(row.key))
      if (rows.length < PAGE) return
      last = String(rows.at(-1)?.key)
    }
  }
  return {
    kind: 'postgres',
    durable: true,
    atomic: true,
    main: all,
    soft: all,
    keys,
    bus: adapter.opts.uri === undefined ? undefined : postgresBus(adapter.opts.uri, query),
    close: async () => undefined,
  }
}

/** Two processes may create the table at once: one of them is then told that a type exists already. */
async function createTable(adapter: PostgresAdapter): Promise<void> {
  for (const sql of [TABLE, INDEX]) {
    try {
      await adapter.query(sql)
    } catch {
      await adapter.query(sql)
    }
  }
}

type Query = (what: string, sql: string, values: unknown[]) => Promise<unknown>

interface Listener {
  connect(): Promise<void>
  query(sql: string): Promise<unknown>
  on(event: string, listener: (message: { payload?: string }) => void): unknown
  end(): Promise<void>
}

/** LISTEN and NOTIFY. Listening takes a connection of its own, by the driver that `@keyv/postgres` brings. */
function postgresBus(uri: string, query: Query): Bus {
  return {
    publish: async (message) => void (await query('NOTIFY', 'SELECT pg_notify($1, $2)', [CHANNEL, message])),
    subscribe: async (listener) => {
      const driver = 'pg'
      const { default: pg } = (await import(driver)) as { default: { Client: new (options: object) => Listener } }
      const client = new pg.Client({ connectionString: uri })
      client.on('notification', ({ payload }) => listener(payload ?? ''))
      // A lost connection costs speed, not truth: looks go on at their own pace.
      client.on('error', () => undefined)
      await client.connect()
      await client.query(`LISTEN ${CHANNEL}`)
      return () => client.end()
    },
  }
}
