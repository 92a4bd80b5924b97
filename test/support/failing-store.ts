import type { KeyvAdapterLike } from '../../src/store/types.js'

/** A Keyv storage adapter in memory that fails on request. */
export class FailingStore implements KeyvAdapterLike {
  failReads = false
  failWrites = false
  /** Writes of keys that match fail. */
  failKeys: RegExp | undefined
  private readonly entries = new Map<string, string>()

  async get(key: string): Promise<string | undefined> {
    if (this.failReads) throw new Error('the disk is on fire')
    return this.entries.get(key)
  }

  async set(key: string, value: string): Promise<boolean> {
    if (this.failWrites || this.failKeys?.test(key)) throw new Error('the disk is full')
    this.entries.set(key, value)
    return true
  }

  async delete(key: string): Promise<boolean> {
    if (this.failWrites) throw new Error('the disk is full')
    return this.entries.delete(key)
  }

  async clear(): Promise<void> {
    this.entries.clear()
  }

  async has(key: string): Promise<boolean> {
    return this.entries.has(key)
  }

  keys(): string[] {
    return [...this.entries.keys()]
  }

  /** Everything that is stored, as text. */
  dump(): string {
    return [...this.entries].flat().join('\n')
  }

  /** Writes past the library: what another program, or a newer version, may have left. */
  put(key: string, value: string): void {
    this.entries.set(key, value)
  }
}
