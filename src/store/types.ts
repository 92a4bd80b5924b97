/**
 * What the library needs of a store. Built from a Keyv instance, a Keyv storage adapter or one of our own stores by
 * `openBackend`. Every method throws `StoreError` when the store fails or does not answer in time; `undefined` always means
 * "certainly not there".
 */
export interface KeyValue {
  get(key: string): Promise<string | undefined>
  /** In the order of `keys`. */
  getMany(keys: readonly string[]): Promise<(string | undefined)[]>
  /** Writes, replacing. `expiresAt` in milliseconds since the epoch, null for never. */
  set(key: string, value: string, expiresAt: number | null): Promise<void>
  /** Writes only where nothing is; true when this call wrote. Atomic where the backend's `atomic` says so. */
  add(key: string, value: string, expiresAt: number | null): Promise<boolean>
  delete(key: string): Promise<void>
}

/** Tells other processes that something has changed. Messages may be lost. */
export interface Bus {
  publish(message: string): Promise<void>
  /** @returns ends the subscription. */
  subscribe(listener: (message: string) => void): Promise<() => Promise<void>>
}

/** An opened store. */
export interface Backend {
  /** For messages: `memory`, `lmdb`, `redis`, `postgres`, `keyv`. */
  readonly kind: string
  /** True when entries outlive the process. */
  readonly durable: boolean
  /** True when `add` is atomic across processes. */
  readonly atomic: boolean
  /** Durable when the promise resolves, as far as the backend can: outcomes, refs, answers, cancel intents. */
  readonly main: KeyValue
  /** May be lost in a power failure: leases and snapshots. The same store as `main` where there is no cheaper way. */
  readonly soft: KeyValue
  /** The live keys of `main` that begin with `prefix`, in no particular order. Absent where the backend cannot list. */
  readonly keys?: ((prefix: string) => AsyncIterable<string>) | undefined
  /** Where the store can tell its users of changes. */
  readonly bus?: Bus | undefined
  close(): Promise<void>
}

/** Our own stores carry this: `openBackend` calls it instead of going through Keyv's interface. */
export const BACKEND = Symbol.for('mcp-job-tools.backend')

/** A store of ours. */
export interface OwnStore {
  [BACKEND](): Backend | Promise<Backend>
}

/** A Keyv storage adapter of Keyv 5 or 6 (or a Map), as far as we use it. */
export interface KeyvAdapterLike {
  get(key: string): unknown
  set(key: string, value: string, ttlOrExpires?: number): unknown
  delete(key: string): unknown
}

/** A Keyv instance of Keyv 5 or 6, as far as we use it: we only take its adapter. */
export interface KeyvLike {
  readonly store: unknown
}

/** What `createJobTools({ store })` accepts. */
export type StoreInput = OwnStore | KeyvLike | KeyvAdapterLike | Map<string, unknown>
