const FIRST_CAPACITY = 16_384

/**
 * Collects a body up to a limit, or the end of a body of any length in bounded memory. The bytes are copied: keeping the
 * chunks would let an upstream that sends single bytes use a hundred times the limit.
 */
export class BodyBuffer {
  readonly #limit: number
  readonly #keepTail: boolean
  #bytes: Buffer
  #total = 0

  /**
   * @param limit in bytes
   * @param keepTail keep the last `limit` bytes of a larger body instead of refusing it
   */
  constructor(limit: number, keepTail: boolean) {
    this.#limit = limit
    this.#keepTail = keepTail
    this.#bytes = Buffer.allocUnsafe(Math.min(limit, FIRST_CAPACITY))
  }

  /** False once the body is larger than the limit and nothing may be dropped. */
  add(chunk: Uint8Array): boolean {
    if (!this.#keepTail && this.#total + chunk.length > this.#limit) {
      this.#write(chunk.subarray(0, this.#limit - this.#total))
      return false
    }
    // Of a chunk larger than the limit only the end can stay.
    const skipped = Math.max(0, chunk.length - this.#limit)
    this.#total += skipped
    this.#write(chunk.subarray(skipped))
    return true
  }

  #write(chunk: Uint8Array): void {
    this.#grow(Math.min(this.#limit, this.#total + chunk.length))
    // Once full, it is a ring: the byte at `total % limit` is the oldest.
    const at = this.#limit === 0 ? 0 : this.#total % this.#limit
    const fits = Math.min(chunk.length, this.#limit - at)
    this.#bytes.set(chunk.subarray(0, fits), at)
    this.#bytes.set(chunk.subarray(fits), 0)
    this.#total += chunk.length
  }

  #grow(needed: number): void {
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.min(this.#limit, Math.max(needed, this.#bytes.length * 2)))
    larger.set(this.#bytes)
    this.#bytes = larger
  }

  /** The collected bytes, from the start of a character on, and how many went before them. */
  take(): { bytes: Uint8Array; droppedBytes: number } {
    if (this.#total <= this.#limit) return { bytes: this.#bytes.subarray(0, this.#total), droppedBytes: 0 }
    const oldest = this.#total % this.#limit
    const bytes = Buffer.concat([this.#bytes.subarray(oldest), this.#bytes.subarray(0, oldest)])
    let start = 0
    while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1
    return { bytes: bytes.subarray(start), droppedBytes: this.#total - this.#limit + start }
  }
}
