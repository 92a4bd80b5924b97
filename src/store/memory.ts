import type { Backend, KeyValue } from './types.js'

/** What the Map holds. */
export interface MemoryEntry {
  value: string
  expiresAt: number | null
}

/** Each write drops at most this many expired entries, so that no single one takes long. */
const SWEEP_STEP = 20

/**
 * A backend inside the process: a Map, gone with the process. No timers: what has expired is dropped a little at each write.
 *
 * @param now milliseconds since the epoch.
 */
export function memoryBackend(now: () => number, entries = new Map<string, MemoryEntry>()): Backend {
  let cursor: Iterator<[string, MemoryEntry]> | undefined
  const live = (key: string): MemoryEntry | undefined => {
    const entry = entries.get(key)
    return entry && (entry.expiresAt === null || now() < entry.expiresAt) ? entry : undefined
  }
  const sweep = () => {
    cursor ??= entries.entries()
    for (let step = 0; step < SWEEP_STEP; step++) {
      const next = cursor.next()
      if (next.done) {
        cursor = undefined
        return
      }
      const [key, { expiresAt }] = next.value
      if (expiresAt !== null && now() >= expiresAt) entries.delete(key)
    }
  }
  const write = (key: string, value: string, expiresAt: number | null) => {
    entries.set(key, { value, expiresAt })
    sweep()
  }
  const all: KeyValue = {
    get: async (key) => live(key)?.value,
    getMany: async (keys) => keys.map((key) => live(key)?.value),
    set: async (key, value, expiresAt) => write(key, value, expiresAt),
    add: async (key, value, expiresAt) => {
      if (live(key)) return false
      write(key, value, expiresAt)
      return true
    },
    delete: async (key) => void entries.delete(key),
  }
  return {
    kind: 'memory',
    durable: false,
    atomic: true,
    main: all,
    soft: all,
    async *keys(prefix) {
      for (const key of [...entries.keys()]) if (key.startsWith(prefix) && live(key)) yield key
    },
    close: async () => undefined,
  }
}
