import { dirname } from 'node:path'
import type { Database, RootDatabase, RootDatabaseOptionsWithPath } from 'lmdb'
import { StoreError } from '../errors/index.js'
import { BACKEND, type Backend, type KeyValue, type OwnStore } from './types.js'

/** Options of {@link lmdbStore}. */
export interface LmdbStoreOptions {
  /** The file, such as `./jobs.lmdb`; its folder is made where it is missing. A second file beside it (`./jobs-soft.lmdb`) holds what may be lost. */
  path: string
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: (() => number) | undefined
}

/** LMDB's own bound, less what our index adds to a key. */
const LONGEST_KEY_BYTES = 1_900
/** Expired entries are dropped at most this often, at most so many at a time, along with a write. */
const CLEAN_EVERY_MS = 1_000
const CLEAN_STEP = 200

type Entries = Database<string, string>
type Expiries = Database<boolean, [number, string]>

function fault(what: string, path: string, cause: unknown): StoreError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new StoreError(`LMDB at ${path} could not ${what}: ${reason}`, { cause })
}

/** One environment, that is, one file. */
class Environment {
  private cleanedAt = Number.NEGATIVE_INFINITY

  private constructor(
    private readonly root: RootDatabase,
    private readonly entries: Entries,
    private readonly expiries: Expiries,
    private readonly path: string,
    private readonly durable: boolean,
    private readonly now: () => number,
  ) {}

  static async open(path: string, durable: boolean, now: () => number): Promise<Environment> {
    let open: (options: RootDatabaseOptionsWithPath) => RootDatabase
    try {
      ;({ open } = await import('lmdb'))
    } catch (cause) {
      throw new StoreError('lmdbStore needs the package lmdb: npm install lmdb', { cause })
    }
    try {
      const root = open({ path, maxDbs: 4, ...(durable ? {} : { noSync: true }) })
      const entries: Entries = root.openDB({ name: 'entries', encoding: 'string' })
      const expiries: Expiries = root.openDB({ name: 'expiries' })
      return new Environment(root, entries, expiries, path, durable, now)
    } catch (cause) {
      throw fault(`be opened (is ${dirname(path)} a folder that this user may write to?)`, path, cause)
    }
  }

  /** An entry is its expiry, a colon, and the value. */
  private live(stored: string | undefined): string | undefined {
    if (stored === undefined) return undefined
    const colon = stored.indexOf(':')
    const expiresAt = stored.slice(0, colon)
    return expiresAt === '' || this.now() < Number(expiresAt) ? stored.slice(colon + 1) : undefined
  }

  read(key: string): string | undefined {
    this.checkKey(key)
    try {
      return this.live(this.entries.get(key))
    } catch (cause) {
      throw fault('be read', this.path, cause)
    }
  }

  private put(key: string, value: string, expiresAt: number | null): void {
    void this.entries.put(key, `${expiresAt ?? ''}:${value}`)
    if (expiresAt !== null) void this.expiries.put([expiresAt, key], true)
    this.clean()
  }

  /** Runs `work` inside LMDB's one write transaction: atomic across all processes on the file. */
  async write<T>(key: string, work: (put: (value: string, expiresAt: number | null) => void) => T): Promise<T> {
    this.checkKey(key)
    try {
      const done = await this.root.transaction(() => work((value, expiresAt) => this.put(key, value, expiresAt)))
      if (this.durable) await this.root.flushed
      return done
    } catch (cause) {
      throw fault('be written (is the disk full?)', this.path, cause)
    }
  }

  async remove(key: string): Promise<void> {
    this.checkKey(key)
    try {
      await this.entries.remove(key)
    } catch (cause) {
      throw fault('be written', this.path, cause)
    }
  }

  /** Inside a write transaction: drops some of what has expired. */
  private clean(): void {
    const now = this.now()
    if (now - this.cleanedAt < CLEAN_EVERY_MS && now >= this.cleanedAt) return
    this.cleanedAt = now
    const due = [...this.expiries.getKeys({ end: [now, ''], limit: CLEAN_STEP, snapshot: false })]
    for (const entry of due) {
      const [, key] = entry
      const stored = this.entries.get(key)
      // It may have been written again since, with a later expiry.
      if (stored !== undefined && this.live(stored) === undefined) void this.entries.remove(key)
      void this.expiries.remove(entry)
    }
    // A full step means that there is more: the next write goes on.
    if (due.length === CLEAN_STEP) this.cleanedAt = Number.NEGATIVE_INFINITY
  }

  *keys(prefix: string): Iterable<string> {
    for (const { key, value } of this.entries.getRange({ start: prefix, end: `${prefix}\uffff` })) {
      if (key.startsWith(prefix) && this.live(value) !== undefined) yield key
    }
  }

  private checkKey(key: string): void {
    if (Buffer.byteLength(key) > LONGEST_KEY_BYTES)
      throw new StoreError(`a key of ${Buffer.byteLength(key)} bytes is longer than LMDB allows`)
  }

  close(): Promise<void> {
    return this.root.close()
  }

  space(): KeyValue {
    return {
      get: async (key) => this.read(key),
      getMany: async (keys) => keys.map((key) => this.read(key)),
      set: (key, value, expiresAt) => this.write(key, (put) => put(value, expiresAt)),
      add: (key, value, expiresAt) =>
        this.write(key, (put) => {
          if (this.read(key) !== undefined) return false
          put(value, expiresAt)
          return true
        }),
      delete: (key) => this.remove(key),
    }
  }
}

async function openLmdb(options: LmdbStoreOptions): Promise<Backend> {
  const now = options.now ?? Date.now
  const main = await Environment.open(options.path, true, now)
  const soft = await Environment.open(options.path.replace(/(\.[^./\\]+)?$/, '-soft$1'), false, now)
  let closing: Promise<void> | undefined
  return {
    kind: 'lmdb',
    durable: true,
    atomic: true,
    main: main.space(),
    soft: soft.space(),
    async *keys(prefix) {
      yield* main.keys(prefix)
    },
    close: () => {
      closing ??= Promise.all([main.close(), soft.close()]).then(() => undefined)
      return closing
    },
  }
}

/**
 * A Keyv storage adapter over LMDB: also usable as `new Keyv({ store: lmdbStore({ path }) })`, for Keyv 5 and 6. Entries of a
 * Keyv and tasks live in one file without meeting.
 */
export class LmdbStore implements OwnStore {
  /** Written by Keyv. */
  namespace: string | undefined
  readonly opts: LmdbStoreOptions
  private opened: Promise<Backend> | undefined

  constructor(options: LmdbStoreOptions) {
    this.opts = options
  }

  /** The backend that `createJobTools` uses. Opened once, however often it is asked for. */
  [BACKEND](): Promise<Backend> {
    this.opened ??= openLmdb(this.opts).catch((error: unknown) => {
      this.opened = undefined
      throw error
    })
    return this.opened
  }

  /** @returns the stored text, or undefined. */
  async get(key: string): Promise<string | undefined> {
    return (await this[BACKEND]()).main.get(`keyv:${key}`)
  }

  async getMany(keys: string[]): Promise<(string | undefined)[]> {
    return (await this[BACKEND]()).main.getMany(keys.map((key) => `keyv:${key}`))
  }

  /** @param ttl milliseconds from now. */
  async set(key: string, value: string, ttl?: number): Promise<boolean> {
    const now = this.opts.now ?? Date.now
    await (await this[BACKEND]()).main.set(`keyv:${key}`, value, ttl ? now() + ttl : null)
    return true
  }

  async delete(key: string): Promise<boolean> {
    const { main } = await this[BACKEND]()
    const there = (await main.get(`keyv:${key}`)) !== undefined
    await main.delete(`keyv:${key}`)
    return there
  }

  async has(key: string): Promise<boolean> {
    return (await this.get(key)) !== undefined
  }

  /** Drops the entries of Keyv (of its namespace, if it has one), never tasks. */
  async clear(): Promise<void> {
    const { main, keys } = await this[BACKEND]()
    const prefix = this.namespace === undefined ? 'keyv:' : `keyv:${this.namespace}:`
    for await (const key of keys?.(prefix) ?? []) await main.delete(key)
  }

  async disconnect(): Promise<void> {
    await (await this.opened)?.close()
  }
}

/**
 * An embedded store: one file, durable before the answer, shared by all processes of one machine.
 * Needs the package `lmdb`, which ships prebuilt.
 */
export function lmdbStore(options: LmdbStoreOptions): LmdbStore {
  return new LmdbStore(options)
}
