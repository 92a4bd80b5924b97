import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isRateLimited, joinHints, MAX_WAIT_MS, paceHints, retryAfterMs, retryDelay } from '../../src/http/index.js'

const NOW = Date.UTC(2026, 11, 2, 0, 0, 0)
const DATE = 'Wed, 02 Dec 2026 00:00:00 GMT'
const nowSeconds = NOW / 1000

describe('retryAfterMs', () => {
  it.each([
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['zero', { 'retry-after': '0' }, 0],
    ['a fraction', { 'retry-after': '1.5' }, 1_500],
    ['blanks around', { 'retry-after': ' 7 ' }, 7_000],
    ['huge', { 'retry-after': '999999999' }, MAX_WAIT_MS],
    ['beyond the double range', { 'retry-after': '9'.repeat(300) }, MAX_WAIT_MS],
    ['sent twice', { 'retry-after': '5, 30' }, 30_000],
    ['sent twice, once as garbage', { 'retry-after': 'soon, 30' }, 30_000],
    ['a date', { 'retry-after': 'Wed, 02 Dec 2026 00:00:30 GMT', date: DATE }, 30_000],
    ['a date in the old form', { 'retry-after': 'Wednesday, 02-Dec-26 00:00:30 GMT', date: DATE }, 30_000],
    ['a date as asctime', { 'retry-after': 'Wed Dec  2 00:00:30 2026', date: DATE }, 30_000],
    ['an ISO date', { 'retry-after': '2026-12-02T00:00:30Z', date: DATE }, 30_000],
    ['an ISO date without zone', { 'retry-after': '2026-12-02T00:00:30', date: DATE }, 30_000],
    ['an ISO date with offset', { 'retry-after': '2026-12-02T05:30:30+05:30', date: DATE }, 30_000],
    ['a date without Date', { 'retry-after': 'Wed, 02 Dec 2026 00:00:30 GMT' }, 30_000],
    ['a date with a broken Date', { 'retry-after': 'Wed, 02 Dec 2026 00:00:30 GMT', date: 'today' }, 30_000],
    [
      'a date from a server whose clock is an hour ahead',
      { 'retry-after': 'Wed, 02 Dec 2026 01:00:30 GMT', date: 'Wed, 02 Dec 2026 01:00:00 GMT' },
      30_000,
    ],
    [
      'a date in the past',
      { 'retry-after': 'Wed, 02 Dec 2026 00:00:00 GMT', date: 'Wed, 02 Dec 2026 00:00:30 GMT' },
      0,
    ],
    ['a date far away', { 'retry-after': 'Wed, 02 Dec 2099 00:00:00 GMT', date: DATE }, MAX_WAIT_MS],
    ['milliseconds', { 'retry-after-ms': '250' }, 250],
    ['milliseconds beside seconds', { 'retry-after-ms': '250', 'retry-after': '1' }, 250],
    ['milliseconds as Azure spells it', { 'x-ms-retry-after-ms': '1250' }, 1_250],
    ['broken milliseconds beside seconds', { 'retry-after-ms': 'x', 'retry-after': '1' }, 1_000],
    ['nothing', {}, undefined],
    ['an empty value', { 'retry-after': '' }, undefined],
    ['a word', { 'retry-after': 'soon' }, undefined],
    ['a word with a number, which Date.parse takes', { 'retry-after': 'soon 5' }, undefined],
    ['a negative number', { 'retry-after': '-5' }, undefined],
    ['NaN', { 'retry-after': 'NaN' }, undefined],
    ['infinity', { 'retry-after': 'Infinity' }, undefined],
    ['hexadecimal', { 'retry-after': '0x10' }, undefined],
    ['an exponent', { 'retry-after': '1e3' }, undefined],
    ['a date that does not exist', { 'retry-after': 'Wed, 99 Dec 2026 00:00:30 GMT' }, undefined],
  ])('%s', (_name, headers, expected) => {
    expect(retryAfterMs(headers, NOW)).toBe(expected)
  })

  it('gives a usable wait or none for any text', () => {
    const any = fc.oneof(fc.string(), fc.double().map(String), fc.integer().map(String), fc.date().map(String))
    fc.assert(
      fc.property(any, any, any, (retryAfter, ms, date) => {
        const wait = retryAfterMs({ 'retry-after': retryAfter, 'retry-after-ms': ms, date }, NOW)
        if (wait !== undefined) expect(Number.isSafeInteger(wait) && wait >= 0 && wait <= MAX_WAIT_MS).toBe(true)
      }),
    )
  })

  it('reads every date back to the second, whatever the clocks say', () => {
    const seconds = fc.integer({ min: 0, max: 4_000_000_000 })
    fc.assert(
      fc.property(seconds, fc.integer({ min: 0, max: 86_400 }), fc.integer(), (server, wait, now) => {
        const text = (s: number) => new Date(s * 1000).toUTCString()
        expect(retryAfterMs({ 'retry-after': text(server + wait), date: text(server) }, now)).toBe(wait * 1000)
      }),
    )
  })
})

describe('paceHints', () => {
  it.each([
    ['nothing', 200, {}, {}],
    [
      'epoch seconds',
      200,
      { 'x-ratelimit-remaining': '3', 'x-ratelimit-reset': `${nowSeconds + 600}` },
      { rateRemaining: 3, rateResetMs: 600_000 },
    ],
    [
      'epoch milliseconds',
      200,
      { 'x-ratelimit-remaining': '3', 'x-ratelimit-reset': `${NOW + 600_000}` },
      { rateRemaining: 3, rateResetMs: 600_000 },
    ],
    [
      'epoch seconds and a skewed clock',
      200,
      { 'x-ratelimit-reset': `${nowSeconds + 660}`, date: 'Wed, 02 Dec 2026 00:01:00 GMT' },
      { rateResetMs: 600_000 },
    ],
    [
      'seconds from now',
      200,
      { 'ratelimit-remaining': '10', 'ratelimit-reset': '60' },
      { rateRemaining: 10, rateResetMs: 60_000 },
    ],
    [
      'GitLab, whose reset is a point in time',
      200,
      { 'ratelimit-remaining': '10', 'ratelimit-reset': `${nowSeconds + 60}` },
      { rateRemaining: 10, rateResetMs: 60_000 },
    ],
    [
      'with dashes',
      200,
      { 'x-rate-limit-remaining': '10', 'x-rate-limit-reset': '2026-12-02T00:02:00Z' },
      { rateRemaining: 10, rateResetMs: 120_000 },
    ],
    ['an HTTP date', 200, { 'x-ratelimit-reset': 'Wed, 02 Dec 2026 00:02:00 GMT' }, { rateResetMs: 120_000 }],
    [
      'spans',
      200,
      { 'x-ratelimit-remaining-requests': '59', 'x-ratelimit-reset-requests': '6m0s' },
      { rateRemaining: 59, rateResetMs: 360_000 },
    ],
    [
      'a span of milliseconds',
      200,
      { 'x-ratelimit-remaining-requests': '59', 'x-ratelimit-reset-requests': '17ms' },
      { rateRemaining: 59, rateResetMs: 17 },
    ],
    ['a structured field', 200, { ratelimit: '"default";r=50;t=30' }, { rateRemaining: 50, rateResetMs: 30_000 }],
    [
      'two policies',
      200,
      { ratelimit: '"hour";r=500;t=3000, "burst";r=2;t=5' },
      { rateRemaining: 2, rateResetMs: 5_000 },
    ],
    ['the older form', 200, { ratelimit: 'limit=100, remaining=7, reset=9' }, { rateRemaining: 7, rateResetMs: 9_000 }],
    [
      'a quota unit that looks like a member',
      200,
      { ratelimit: '"r=1";r=8;t=4;pk=:r=2:' },
      { rateRemaining: 8, rateResetMs: 4_000 },
    ],
    [
      'a reset in the past',
      200,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${nowSeconds - 5}` },
      { rateRemaining: 0, rateResetMs: 0 },
    ],
    ['garbage', 200, { 'x-ratelimit-remaining': 'many', 'x-ratelimit-reset': 'later', ratelimit: 'r=-1;t=x' }, {}],
    [
      'used up but answered',
      200,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' },
      { rateRemaining: 0, rateResetMs: 30_000 },
    ],
    [
      'used up and refused',
      429,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' },
      { rateRemaining: 0, rateResetMs: 30_000, retryAfterMs: 30_000 },
    ],
    [
      'used up and forbidden',
      403,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' },
      { rateRemaining: 0, rateResetMs: 30_000, retryAfterMs: 30_000 },
    ],
    [
      'told to wait less than the window',
      429,
      { 'retry-after': '5', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30' },
      { rateRemaining: 0, rateResetMs: 30_000, retryAfterMs: 5_000 },
    ],
    [
      'refused with requests left',
      429,
      { 'x-ratelimit-remaining': '4', 'x-ratelimit-reset': '30' },
      { rateRemaining: 4, rateResetMs: 30_000 },
    ],
    ['the wait of a 202', 202, { 'retry-after': '15' }, { retryAfterMs: 15_000 }],
  ])('%s', (_name, status, headers, expected) => {
    const none = { retryAfterMs: undefined, rateRemaining: undefined, rateResetMs: undefined }
    expect(paceHints(status, headers as Record<string, string>, NOW)).toEqual({ ...none, ...expected })
  })

  it('never throws and never gives a number that cannot be used', () => {
    const text = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.constantFrom('"a";r=1;t=2', 'remaining=1', '1h2m', '9'.repeat(400)),
    )
    const names = ['x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit-reset', 'ratelimit', 'date', 'retry-after']
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...names), text),
        fc.integer({ min: 100, max: 999 }),
        (headers, status) => {
          for (const value of Object.values(paceHints(status, headers, NOW))) {
            if (value !== undefined) expect(Number.isFinite(value) && value >= 0).toBe(true)
          }
        },
      ),
    )
  })
})

describe('isRateLimited', () => {
  it.each([
    [429, {}, true],
    [403, { 'retry-after': '60' }, true],
    [403, { 'x-ratelimit-remaining': '0' }, true],
    [403, { 'x-ratelimit-remaining': '12' }, false],
    [403, {}, false],
    [401, { 'x-ratelimit-remaining': '0' }, false],
    [200, { 'x-ratelimit-remaining': '0' }, false],
  ])('%i %j', (status, headers, expected) => {
    expect(isRateLimited(status, headers as Record<string, string>, NOW)).toBe(expected)
  })
})

describe('joinHints', () => {
  it('takes the longest wait and the window with the least left', () => {
    expect(
      joinHints(
        { retryAfterMs: 1_000, rateRemaining: 50, rateResetMs: 9_000 },
        { retryAfterMs: 500, rateRemaining: 2, rateResetMs: 100 },
      ),
    ).toEqual({ retryAfterMs: 1_000, rateRemaining: 2, rateResetMs: 100 })
    expect(joinHints({}, { retryAfterMs: 0 })).toEqual({
      retryAfterMs: 0,
      rateRemaining: undefined,
      rateResetMs: undefined,
    })
    expect(joinHints({ rateResetMs: 5 }, {})).toMatchObject({ rateResetMs: 5 })
  })

  it('does not care for order', () => {
    const number = fc.option(fc.nat(), { nil: undefined })
    const hints = fc.record({ retryAfterMs: number, rateRemaining: fc.nat(), rateResetMs: number })
    fc.assert(
      fc.property(hints, hints, (a, b) => {
        expect(joinHints(a, b)).toEqual(joinHints(b, a))
      }),
    )
  })
})

describe('retryDelay', () => {
  it('grows, with half of it left to chance, up to four seconds', () => {
    expect([0, 1, 2, 3].map((attempt) => retryDelay(attempt, () => 0))).toEqual([100, 200, 400, 800])
    expect([0, 1, 2, 3].map((attempt) => retryDelay(attempt, () => 1))).toEqual([200, 400, 800, 1600])
    expect(retryDelay(50, () => 1)).toBe(4_000)
    expect(retryDelay(0, () => Number.NaN)).toBe(200)
  })

  it('stays in its bounds for every attempt and every random source', () => {
    fc.assert(
      fc.property(fc.integer(), fc.double(), (attempt, random) => {
        const delay = retryDelay(attempt, () => random)
        expect(delay >= 100 && delay <= 4_000).toBe(true)
      }),
    )
  })
})
