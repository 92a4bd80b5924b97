import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DEFAULT_POLICY, type Policy, type Reading } from '../../src/define/index.js'
import { type LiveTask, observe, type Sighting, type Verdict } from '../../src/engine/transition.js'
import type { Snapshot, StoredRef } from '../../src/store/records.js'

const T0 = 1_800_000_000_000
const MINUTE = 60_000
const HOUR = 3_600_000
const can = { canAnswer: true, canCancel: true }

function task(over: Partial<LiveTask> = {}, job: Partial<LiveTask['job']> = {}): LiveTask {
  return {
    job: {
      id: 'i',
      tool: 't',
      owner: null,
      createdAt: T0,
      key: 'k',
      input: {},
      answers: {},
      deadlineAt: T0 + 24 * HOUR,
      retentionMs: HOUR,
      ref: { id: '7' },
      boundAt: T0,
      ...job,
    },
    ref: { id: '7' },
    refAt: T0,
    cancel: undefined,
    questions: [],
    snapshot: undefined,
    ...over,
  }
}
const read = (reading: Reading<StoredRef>): Sighting => ({ kind: 'reading', reading, hints: {} })
const fault = (reason = 'GET /jobs/{id} answered 503'): Sighting => ({ kind: 'fault', reason, hints: {} })
const look = (before: LiveTask, sighting: Sighting, now = T0 + 1_000, policy: Policy = DEFAULT_POLICY) =>
  observe(before, sighting, policy, can, now)

function live(verdict: Verdict): Snapshot {
  if (verdict.kind !== 'live') throw new Error(`the task is over: ${verdict.message}`)
  return verdict.snapshot
}

/** Looks again and again, every `step` milliseconds, until the task is over or `times` are used up. */
function follow(
  sightings: (n: number) => Sighting,
  times: number,
  step: number,
  policy?: Policy,
): { verdict: Verdict; looks: number } {
  let current = task()
  for (let n = 0; n < times; n++) {
    const verdict = look(current, sightings(n), T0 + 1_000 + n * step, policy)
    if (verdict.kind !== 'live' || n === times - 1) return { verdict, looks: n + 1 }
    current = { ...current, snapshot: verdict.snapshot }
  }
  throw new Error('unreachable')
}

describe('an end of the job', () => {
  it.each(['succeeded', 'failed', 'cancelled'] as const)('%s ends the task, with the upstream message', (phase) => {
    expect(look(task(), read({ phase, message: 'exit 1' }))).toMatchObject({ kind: 'ended', phase, message: 'exit 1' })
  })
  it('counts even after the deadline: the truth about the job wins', () => {
    expect(look(task(), read({ phase: 'succeeded' }), T0 + 25 * HOUR)).toMatchObject({
      kind: 'ended',
      phase: 'succeeded',
    })
  })
})

describe('trouble with the upstream', () => {
  it('keeps the task working and says why', () => {
    const snapshot = live(look(task(), fault()))
    expect(snapshot).toMatchObject({ status: 'working', trouble: { count: 1 } })
    expect(snapshot.message).toContain('answered 503')
    expect(snapshot.message).toContain('job 7')
  })
  it('keeps what was known last', () => {
    const before = live(look(task(), read({ phase: 'working', message: 'stage compile', progress: { done: 40 } })))
    const after = live(look(task({ snapshot: before }), fault(), T0 + 10_000))
    expect(after.message).toContain('stage compile')
    expect(after.progress).toEqual({ done: 40 })
  })
  it('keeps an open question open', () => {
    const snapshot: Snapshot = {
      at: T0,
      status: 'input_required',
      message: 'Deploy?',
      pollIntervalMs: 5_000,
      changedAt: T0,
      open: [1],
    }
    expect(live(look(task({ snapshot }), fault()))).toMatchObject({ status: 'input_required', open: [1] })
  })
  it('slows down, and is forgotten at the first good look', () => {
    const one = live(look(task(), fault()))
    const two = live(look(task({ snapshot: one }), fault(), T0 + 2_000))
    expect(two.pollIntervalMs).toBeGreaterThan(one.pollIntervalMs)
    const good = live(look(task({ snapshot: two }), read({ phase: 'working' }), T0 + 3_000))
    expect(good.trouble).toBeUndefined()
    expect(good.pollIntervalMs).toBe(DEFAULT_POLICY.pollIntervalMs)
  })
  it('fails the task past unreachableMs, naming job and reason', () => {
    const { verdict, looks } = follow(() => fault(), 500, MINUTE)
    expect(verdict).toMatchObject({ kind: 'lost', loss: 'unreachable' })
    expect(looks).toBe(61)
    expect(verdict.kind === 'lost' && verdict.message).toMatch(/Job 7 .*60 min.*503/)
  })
  it('never fails it when one look in an hour succeeds', () => {
    const { verdict } = follow((n) => (n % 50 === 49 ? read({ phase: 'working' }) : fault()), 700, MINUTE)
    expect(verdict.kind).toBe('live')
  })
  it('is not blamed on a clock that jumped: two failed looks are not an hour of trouble', () => {
    const one = live(look(task({}, { deadlineAt: null }), fault()))
    expect(look(task({ snapshot: one }, { deadlineAt: null }), fault(), T0 + 1_000 * HOUR).kind).toBe('live')
  })
})

describe('a state that nobody has mapped', () => {
  it('is working, with the word', () => {
    const snapshot = live(look(task(), read({ phase: 'unknown', message: 'TIMEOUT' })))
    expect(snapshot.status).toBe('working')
    expect(snapshot.message).toContain('TIMEOUT')
  })
  it('fails the task past unknownStateMs, naming the word', () => {
    const { verdict, looks } = follow(() => read({ phase: 'unknown', message: 'TIMEOUT' }), 500, MINUTE)
    expect(verdict).toMatchObject({ kind: 'lost', loss: 'unknown_state', message: expect.stringContaining('TIMEOUT') })
    expect(looks).toBe(61)
  })
  it('starts anew after a known one', () => {
    const { verdict } = follow(
      (n) => (n === 50 ? read({ phase: 'working' }) : read({ phase: 'unknown', message: 'X' })),
      100,
      MINUTE,
    )
    expect(verdict.kind).toBe('live')
  })
  it('is never a throw and never an end, whatever the phase', () => {
    const strange = fc.oneof(
      fc.string(),
      fc.constantFrom('__proto__', 'constructor', '', 'completed', 'SUCCEEDED', 123, null, undefined),
    )
    fc.assert(
      fc.property(strange, (phase) => {
        const known = ['succeeded', 'failed', 'cancelled']
        fc.pre(!known.includes(phase as string))
        expect(look(task(), read({ phase } as never)).kind).toBe('live')
      }),
    )
  })
})

describe('a job that the upstream does not know', () => {
  it('is working within the grace after its creation', () => {
    expect(live(look(task(), read({ phase: 'gone' }), T0 + 119_000)).message).toContain('not visible yet')
  })
  it('fails the task after that', () => {
    expect(look(task(), read({ phase: 'gone' }), T0 + 121_000)).toMatchObject({
      kind: 'lost',
      loss: 'gone',
      message: expect.stringMatching(/Job 7 no longer exists/),
    })
  })
  it('has a new grace when its ref has just changed', () => {
    expect(look(task({ refAt: T0 + HOUR }), read({ phase: 'gone' }), T0 + HOUR + 1_000).kind).toBe('live')
  })
  it('is cancelled where the upstream had accepted a cancel', () => {
    const cancel = { at: T0, attempts: 1, acceptedAt: T0 + 1 }
    expect(look(task({ cancel }), read({ phase: 'gone' }), T0 + HOUR)).toMatchObject({
      kind: 'ended',
      phase: 'cancelled',
    })
    expect(look(task({ cancel: { at: T0, attempts: 1 } }), read({ phase: 'gone' }), T0 + HOUR)).toMatchObject({
      kind: 'lost',
    })
  })
})

describe('the deadline', () => {
  it('fails a task whose job still runs, and asks for its cancel', () => {
    expect(look(task(), read({ phase: 'working' }), T0 + 24 * HOUR)).toMatchObject({
      kind: 'lost',
      loss: 'deadline',
      cancelUpstream: true,
    })
  })
  it('leaves the job alone where the policy says so', () => {
    const policy = { ...DEFAULT_POLICY, cancelOnDeadline: false }
    expect(look(task(), read({ phase: 'working' }), T0 + 24 * HOUR, policy)).toMatchObject({
      loss: 'deadline',
      cancelUpstream: false,
    })
  })
  it('is none when there is none', () => {
    expect(look(task({}, { deadlineAt: null }), read({ phase: 'working' }), T0 + 10_000 * HOUR).kind).toBe('live')
  })
})

describe('what the client sees', () => {
  it('keeps lastUpdatedAt while nothing changes, and moves it when something does', () => {
    const one = live(look(task(), read({ phase: 'working', message: 'a' }), T0 + 1_000))
    const two = live(look(task({ snapshot: one }), read({ phase: 'working', message: 'a' }), T0 + 2_000))
    const three = live(look(task({ snapshot: two }), read({ phase: 'working', message: 'b' }), T0 + 3_000))
    expect([one.changedAt, two.changedAt, three.changedAt]).toEqual([T0 + 1_000, T0 + 1_000, T0 + 3_000])
  })
  it('never moves lastUpdatedAt backwards, whatever the clock does', () => {
    const sighting = fc.oneof(
      fc
        .record({
          phase: fc.constantFrom('working' as const, 'input_required' as const, 'unknown' as const),
          message: fc.constantFrom('a', 'b'),
        })
        .map(read),
      fc.constant(fault()),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(sighting, fc.integer({ min: -HOUR, max: HOUR })), { maxLength: 20 }), (history) => {
        let current = task({}, { deadlineAt: null })
        for (const [seen, shift] of history) {
          const verdict = look(current, seen, T0 + shift)
          if (verdict.kind !== 'live') return
          expect(verdict.snapshot.changedAt).toBeGreaterThanOrEqual(current.snapshot?.changedAt ?? T0)
          current = { ...current, snapshot: verdict.snapshot }
        }
      }),
    )
  })
  it('tells stage and percent', () => {
    const { message } = live(look(task(), read({ phase: 'working', message: 'stage compile', progress: { done: 40 } })))
    expect(message).toBe('stage compile (40%)')
  })
  it('does not tell the percent twice', () => {
    expect(
      live(look(task(), read({ phase: 'working', message: 'stage compile, 40 %', progress: { done: 40 } }))).message,
    ).toBe('stage compile, 40 %')
  })
  it('says where a person can look', () => {
    expect(live(look(task(), read({ phase: 'working', message: 'm', url: 'https://ci.example/7' }))).message).toBe(
      'm https://ci.example/7',
    )
  })
  it('says that a cancel was asked for', () => {
    const cancel = { at: T0, attempts: 1, acceptedAt: T0 }
    expect(live(look(task({ cancel }), read({ phase: 'working', message: 'm' }))).message).toMatch(
      /^m Cancel was requested/,
    )
  })
  it('says that this kind of job cannot be cancelled', () => {
    const verdict = observe(
      task({ cancel: { at: T0, attempts: 0 } }),
      read({ phase: 'working' }),
      DEFAULT_POLICY,
      { canAnswer: true, canCancel: false },
      T0 + 1,
    )
    expect(live(verdict).message).toContain('cannot be cancelled')
  })
  it('has no question to show where the adapter cannot take an answer', () => {
    const reading = read({ phase: 'input_required', message: 'Deploy?', questions: [{ key: 'a', message: 'Deploy?' }] })
    const verdict = observe(task(), reading, DEFAULT_POLICY, { canAnswer: false, canCancel: true }, T0 + 1)
    expect(live(verdict)).toMatchObject({ status: 'working', message: 'Deploy?' })
  })
})
