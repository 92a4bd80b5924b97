import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BodyBuffer } from '../../src/http/body-buffer.js'

const chunks = fc.array(fc.uint8Array({ maxLength: 12 }), { maxLength: 12 })
// Larger than the first allocation, so that growing is met too.
const large = fc.array(
  fc.nat(40_000).map((size) => new Uint8Array(size).fill(size % 120)),
  { maxLength: 5 },
)

describe('BodyBuffer', () => {
  it('gives back what it was given, up to its limit', () => {
    fc.assert(
      fc.property(fc.oneof(chunks, large), fc.oneof(fc.nat(60), fc.nat(100_000)), (parts, limit) => {
        const buffer = new BodyBuffer(limit, false)
        const all = Buffer.concat(parts)
        expect(parts.every((part) => buffer.add(part))).toBe(all.length <= limit)
        if (all.length <= limit) expect(Buffer.from(buffer.take().bytes)).toEqual(all)
      }),
    )
  })

  it('gives the beginning of a body that was too large', () => {
    const buffer = new BodyBuffer(4, false)
    expect([buffer.add(Buffer.from('abc')), buffer.add(Buffer.from('def'))]).toEqual([true, false])
    expect(Buffer.from(buffer.take().bytes).toString()).toBe('abcd')
  })

  it('gives the end of a body of any length, in chunks of any size', () => {
    fc.assert(
      fc.property(
        fc.oneof(chunks, large),
        fc.oneof(fc.integer({ min: 0, max: 60 }), fc.nat(100_000)),
        (parts, limit) => {
          const buffer = new BodyBuffer(limit, true)
          for (const part of parts) expect(buffer.add(part)).toBe(true)
          const all = Buffer.concat(parts)
          const { bytes, droppedBytes } = buffer.take()
          expect(Buffer.from(bytes)).toEqual(all.subarray(droppedBytes))
          const kept = Math.min(limit, all.length)
          expect(bytes.length).toBeLessThanOrEqual(kept)
          expect(bytes.length).toBeGreaterThanOrEqual(kept - 3)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('starts at a character', () => {
    for (let limit = 0; limit <= 8; limit += 1) {
      const buffer = new BodyBuffer(limit, true)
      for (const byte of Buffer.from('🚀🚀')) buffer.add(Uint8Array.of(byte))
      expect(Buffer.from(buffer.take().bytes).toString()).toBe('🚀'.repeat(Math.floor(limit / 4)))
    }
  })
})
