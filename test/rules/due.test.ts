import { faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { closing, world } from '../support/world.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

describe('time to live', () => {
  it('counts from creation: the deadline while the job runs, the end of retention after it', async () => {
    const w = await world({ policy: { maxDurationMs: 2 * HOUR, retentionMs: HOUR } })
    const taskId = await w.start()
    expect((await w.get(taskId)).result.ttlMs).toBe(2 * HOUR)
    w.clock.now += HOUR
    w.up.setState('1', { status: 'done', output: 'x' })
    expect((await w.get(taskId)).result.ttlMs).toBe(2 * HOUR)
    w.clock.now += HOUR - 1
    expect((await w.get(taskId)).result.status).toBe('completed')
    w.clock.now += 1
    expect((await w.get(taskId)).error).toMatchObject({ code: -32602, message: 'Task not found' })
  })

  it('is null where there is no deadline, and such a task is never evicted', async () => {
    const w = await world({ policy: { maxDurationMs: null } })
    const taskId = await w.start()
    w.clock.now += 400 * DAY
    expect((await w.get(taskId)).result).toMatchObject({ status: 'working', ttlMs: null })
  })

  it('cancels the job and fails the task, naming the job, past the deadline', async () => {
    const w = await world({ policy: { maxDurationMs: HOUR } })
    const taskId = await w.start()
    w.clock.now += HOUR
    const { result } = await w.get(taskId)
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: -32603, data: { reason: 'deadline', job: { id: '1' } } },
    })
    expect(result.error.message).toMatch(/Job 1 did not end within 60 min.*asked to stop/)
    expect(w.up.count('POST', '/jobs/1/cancel')).toBe(1)
  })

  it('leaves the job running past the deadline where the policy says so', async () => {
    const w = await world({ policy: { maxDurationMs: HOUR, cancelOnDeadline: false } })
    const taskId = await w.start()
    w.clock.now += HOUR
    expect((await w.get(taskId)).result.error.message).toContain('may still be running')
    expect(w.up.count('POST', '/jobs/1/cancel')).toBe(0)
  })

  it('reports the truth of a job that ended before a deadline that nobody saw', async () => {
    const w = await world({ policy: { maxDurationMs: HOUR } })
    const taskId = await w.start()
    w.up.setState('1', { status: 'done', output: 'in time' })
    w.clock.now += 5 * HOUR
    expect((await w.get(taskId)).result).toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'in time' }] },
    })
  })

  it('keeps a result readable for its whole retention after a late look', async () => {
    const w = await world({ policy: { maxDurationMs: HOUR, retentionMs: HOUR } })
    const taskId = await w.start()
    w.up.setState('1', { status: 'done', output: 'x' })
    w.clock.now += 3 * DAY
    await w.get(taskId)
    w.clock.now += HOUR - 1
    expect((await w.get(taskId)).result.status).toBe('completed')
  })

  it('survives a clock that goes back', async () => {
    const w = await world()
    const taskId = await w.start()
    w.clock.now -= DAY
    w.up.setState('1', { message: 'still here' })
    const { result } = await w.get(taskId)
    expect(result).toMatchObject({ status: 'working', statusMessage: 'still here' })
    expect(Date.parse(result.lastUpdatedAt)).toBeGreaterThanOrEqual(Date.parse(result.createdAt))
    w.up.setState('1', { status: 'done', output: 'x' })
    w.clock.now += 6_000
    const end = (await w.get(taskId)).result
    expect(Date.parse(end.lastUpdatedAt)).toBeGreaterThanOrEqual(Date.parse(end.createdAt))
    expect(end.ttlMs).toBeGreaterThanOrEqual(DAY)
  })
})

describe('sweep', () => {
  it('does what is due without anybody looking: deadlines, cancels, creates left by a crash', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const [store, clock] = [new Map(), { now: Date.now() }]
    const locate = { path: '/jobs', query: { key: '{key}' }, id: 'jobs[0].id' }
    const first = await world({ up, clock, options: { store }, policy: { maxDurationMs: HOUR }, job: { locate } })
    const late = await first.start()
    const stopping = await first.start()
    up.script.cancel.push({ hang: true })
    await first.cancel(stopping)
    await up.waitFor((upstream) => upstream.count('POST', '/jobs/2/cancel') === 1)
    up.script.create.push({ hang: true, takesEffect: true })
    void first.call().catch(() => undefined)
    await up.waitFor((upstream) => upstream.jobs.size === 3)
    up.script.create.length = 0
    up.script.cancel.length = 0

    const second = await world({ up, clock, options: { store }, policy: { maxDurationMs: HOUR }, job: { locate } })
    await second.start()
    clock.now += HOUR / 2
    await second.jobs.sweep()
    expect(up.count('POST', '/jobs/2/cancel')).toBe(2)
    expect(second.eventsOf('created').map((event) => event.ref)).toContainEqual({ id: '3' })
    clock.now += HOUR / 2
    const report = await second.jobs.sweep()
    expect(report.ended).toBeGreaterThanOrEqual(1)
    expect(report.faults).toEqual([])
    expect(second.eventsOf('ended').map((event) => event.taskId)).toContain(late)
    expect(up.count('POST', '/jobs/1/cancel')).toBe(1)
  })

  it('leaves alone what is not due', async () => {
    const w = await world()
    await w.start()
    expect(await w.jobs.sweep()).toEqual({ looked: 0, ended: 0, faults: [] })
    expect(w.up.count('GET', '/jobs/1')).toBe(0)
  })
})
