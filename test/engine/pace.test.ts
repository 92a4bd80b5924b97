import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isFresh, nextPollIntervalMs, type PaceFacts } from '../../src/engine/pace.js'

const policy = { pollIntervalMs: 5_000, minPollIntervalMs: 1_000, maxPollIntervalMs: 300_000 }
const pace = (facts: Partial<PaceFacts> = {}) => nextPollIntervalMs({ policy, ageMs: 0, ...facts })

describe('the next poll interval', () => {
  const table: [string, Partial<PaceFacts>, number][] = [
    ['is the default for a young job', {}, 5_000],
    ['grows with the age of the job', { ageMs: 3_600_000 }, 60_000],
    ['stops growing at the maximum', { ageMs: 864_000_000 }, 300_000],
    ['follows the adapter, however old the job is', { ageMs: 3_600_000, hintMs: 2_000 }, 2_000],
    ['never goes below the minimum', { hintMs: 3 }, 1_000],
    ['waits as long as Retry-After says', { hints: { retryAfterMs: 42_000 } }, 42_000],
    ['does not wait less because of Retry-After', { hints: { retryAfterMs: 1_500 } }, 5_000],
    ['caps a monstrous Retry-After', { hints: { retryAfterMs: 999_999_999_000 } }, 300_000],
    ['spreads what is left of a rate limit', { hints: { rateRemaining: 3, rateResetMs: 600_000 } }, 200_000],
    ['waits for the window when nothing is left', { hints: { rateRemaining: 0, rateResetMs: 90_000 } }, 90_000],
    ['takes no notice of an ample rate limit', { hints: { rateRemaining: 4_999, rateResetMs: 3_600_000 } }, 5_000],
    ['doubles with each fault in a row', { faults: 3 }, 40_000],
    ['stays short while a cancel is under way', { ageMs: 3_600_000, cancelling: true }, 5_000],
    ['ignores a hint that is no number', { hintMs: Number.NaN }, 5_000],
    ['ignores an age that went backwards', { ageMs: -5 }, 5_000],
    ['ignores an infinite Retry-After', { hints: { retryAfterMs: Number.POSITIVE_INFINITY } }, 5_000],
  ]
  it.each(table)('%s', (_, facts, expected) => {
    expect(pace(facts)).toBe(expected)
  })

  it('is a whole number inside the bounds, whatever the upstream says', () => {
    const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(Number.NaN, Infinity, -Infinity, -1, 0))
    const maybe = fc.option(number, { nil: undefined })
    fc.assert(
      fc.property(
        number,
        maybe,
        maybe,
        maybe,
        maybe,
        fc.nat(1_000),
        (ageMs, hintMs, retryAfterMs, rateRemaining, rateResetMs, faults) => {
          const interval = nextPollIntervalMs({
            policy,
            ageMs,
            hintMs,
            hints: { retryAfterMs, rateRemaining, rateResetMs },
            faults,
          })
          expect(Number.isInteger(interval)).toBe(true)
          expect(interval).toBeGreaterThanOrEqual(policy.minPollIntervalMs)
          expect(interval).toBeLessThanOrEqual(policy.maxPollIntervalMs)
          expect(interval).toBeLessThan(2 ** 31)
        },
      ),
    )
  })
})

describe('a snapshot', () => {
  it('is fresh for about one interval, and stale for a client that waited it out', () => {
    const snapshot = { at: 1_000_000, pollIntervalMs: 5_000 }
    expect(isFresh(snapshot, 1_000_000)).toBe(true)
    expect(isFresh(snapshot, 1_004_700)).toBe(true)
    expect(isFresh(snapshot, 1_004_999)).toBe(false)
  })
  it('is stale when the clock went back', () => {
    expect(isFresh({ at: 1_000_000, pollIntervalMs: 5_000 }, 999_999)).toBe(false)
  })
})
