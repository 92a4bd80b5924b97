import { defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { closing, usualJob, world } from '../support/world.js'

describe('cancel', () => {
  it('is acknowledged at once and empty, and reaches the job exactly once', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.cancel.push({ delayMs: 300, body: {} })
    const { result } = await w.cancel(taskId)
    const { _meta: _, ...bare } = result
    expect(bare).toEqual({ resultType: 'complete' })
    await w.cancel(taskId)
    w.up.setState('1', { status: 'cancelled' })
    await w.until(taskId, 'cancelled')
    expect(w.up.count('POST', '/jobs/1/cancel')).toBe(1)
  })

  it('says that it was asked for while the job stops', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.cancel.push({ status: 202 })
    await w.cancel(taskId)
    expect((await w.get(taskId)).result).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('Cancel was requested'),
    })
  })

  it('never changes a task that is over', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.setState('1', { status: 'done', output: 'kept' })
    await w.get(taskId)
    for (let times = 0; times < 2; times++)
      expect((await w.cancel(taskId)).result).toMatchObject({ resultType: 'complete' })
    expect((await w.update(taskId, { any: { action: 'accept' } })).result).toMatchObject({ resultType: 'complete' })
    expect((await w.get(taskId)).result).toMatchObject({ status: 'completed', result: { content: [{ text: 'kept' }] } })
    expect(w.up.count('POST', '/jobs/1/cancel')).toBe(0)
  })

  it.each([404, 409, 410])('reads once more when the upstream says %i, and reports the truth', async (status) => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.cancel.push({ status })
    w.up.setState('1', { status: 'done', output: 'was faster' })
    await w.cancel(taskId)
    expect((await w.until(taskId, 'completed')).result.result.content[0].text).toBe('was faster')
  })

  it('is sent again at later looks until the upstream accepts it', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.cancel.push({ status: 503 }, { status: 503 }, { body: {} })
    await w.cancel(taskId)
    const { result } = await w.get(taskId)
    expect(result.statusMessage).toMatch(/Cancel was requested, but not accepted yet.*503/)
    for (let look = 0; look < 20; look++) {
      w.clock.now += 5_000
      await w.get(taskId)
    }
    expect(w.up.count('POST', '/jobs/1/cancel')).toBe(3)
    w.up.setState('1', { status: 'cancelled' })
    expect((await w.until(taskId, 'cancelled')).result.status).toBe('cancelled')
  })

  it('is sent by the next look when the process died before it could', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const [store, clock] = [new Map(), { now: Date.now() }]
    const first = await world({ up, clock, options: { store } })
    const taskId = await first.start()
    up.script.cancel.push({ hang: true }, { body: {} })
    await first.cancel(taskId)
    await up.waitFor((upstream) => upstream.count('POST', '/jobs/1/cancel') === 1)
    clock.now += 60_000
    const second = await world({ up, clock, options: { store } })
    await second.get(taskId)
    expect(up.count('POST', '/jobs/1/cancel')).toBe(2)
  })

  it('is sent once by two replicas', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const [store, clock] = [new Map(), { now: Date.now() }]
    const [one, two] = [await world({ up, clock, options: { store } }), await world({ up, clock, options: { store } })]
    const taskId = await one.start()
    up.script.cancel.push({ delayMs: 100, body: {} })
    await Promise.all([one.cancel(taskId), two.cancel(taskId), one.get(taskId), two.get(taskId)])
    clock.now += 6_000
    await Promise.all([one.get(taskId), two.get(taskId)])
    expect(up.count('POST', '/jobs/1/cancel')).toBe(1)
  })

  it('works while a person is asked', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.setState('1', { status: 'waiting', questions: [{ key: 'go', text: 'Go?' }] })
    expect((await w.get(taskId)).result.status).toBe('input_required')
    await w.cancel(taskId)
    expect((await w.until(taskId, 'cancelled')).result.status).toBe('cancelled')
  })

  it('takes a job that the upstream dropped after it accepted the cancel for cancelled', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.cancel.push(() => {
      w.up.forget('1')
      return { body: {} }
    })
    await w.cancel(taskId)
    expect((await w.until(taskId, 'cancelled')).result.status).toBe('cancelled')
  })

  it('says that a job without cancel goes on, and reports its end', async () => {
    const { cancel: _, ...job } = usualJob('http://x')
    const w = await world({
      tools: (url) => [
        defineJobTool({
          name: 'render',
          input: z.object({ scene: z.string().default('a') }),
          job: httpJob({ ...job, baseUrl: url }),
        }),
      ],
    })
    const taskId = await w.start()
    expect((await w.cancel(taskId)).result).toMatchObject({ resultType: 'complete' })
    expect((await w.get(taskId)).result.statusMessage).toContain('cannot be cancelled: it goes on')
    w.up.setState('1', { status: 'done', output: 'the end' })
    expect((await w.until(taskId, 'completed')).result.result.content[0].text).toBe('the end')
  })

  it('leaves the job alone when a caller merely goes away', async () => {
    const w = await world({ policy: { waitMs: 5_000 } })
    const gone = new AbortController()
    const call = w.call({}, { tasks: false, signal: gone.signal })
    await w.up.waitFor((up) => up.count('GET', '/jobs/1') > 0)
    gone.abort()
    await expect(call).rejects.toThrow()
    await expect.poll(() => w.eventsOf('wait_abandoned')).toHaveLength(1)
    expect(w.up.count('POST', '/jobs/1/cancel')).toBe(0)
  })
})
