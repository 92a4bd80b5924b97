import { faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { closing, world } from '../support/world.js'

describe('a look', () => {
  it('translates the state that the job has now', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.setState('1', { status: 'running', message: 'stage compile', percent: 40, web: 'https://farm.example/jobs/1' })
    expect((await w.get(taskId)).result).toMatchObject({
      status: 'working',
      statusMessage: 'stage compile (40%) https://farm.example/jobs/1',
    })
  })

  it('ends the task once, and serves the outcome ever after without the upstream', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.setState('1', { status: 'done', output: 'the film' })
    const first = (await w.get(taskId)).result
    expect(first).toMatchObject({
      status: 'completed',
      result: { resultType: 'complete', content: [{ type: 'text', text: 'the film' }] },
    })
    const asked = w.up.requests.length
    w.up.setState('1', { status: 'error' })
    w.up.forget('1')
    w.clock.now += 3_600_000
    const { _meta: _, ...again } = (await w.get(taskId)).result
    expect(first).toMatchObject(again)
    expect(w.up.requests).toHaveLength(asked)
  })

  it('keeps an end although the same job is started again upstream', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.setState('1', { status: 'error', reason: 'flaky' })
    await w.get(taskId)
    w.up.setState('1', { status: 'running' })
    w.clock.now += 60_000
    expect((await w.get(taskId)).result).toMatchObject({ status: 'completed', result: { isError: true } })
  })

  it('calls a failed job completed with isError, and a cancelled one cancelled', async () => {
    const w = await world()
    const [failed, cancelled] = [await w.start(), await w.start()]
    w.up.setState('1', { status: 'error', reason: 'out of memory' })
    w.up.setState('2', { status: 'cancelled' })
    const { result } = await w.get(failed)
    expect(result).toMatchObject({
      status: 'completed',
      result: { isError: true, content: [{ text: 'The job failed: out of memory' }] },
    })
    expect((await w.get(cancelled)).result.status).toBe('cancelled')
  })

  it('marks the result of a failed job as an error, whatever its adapter says of it', async () => {
    const { defineJobTool } = await import('mcp-job-tools')
    const { z } = await import('zod')
    const job = (result?: () => Promise<{ text: string }>) => ({
      create: async () => ({ id: '1' }),
      get: async () => ({}),
      read: () => ({ phase: 'failed' as const, message: 'exit code 1' }),
      ...(result ? { result } : {}),
    })
    const w = await world({
      tools: () => [
        defineJobTool({ name: 'render', input: z.object({}), job: job() }),
        defineJobTool({ name: 'other', input: z.object({}), job: job(async () => ({ text: 'the log' })) }),
      ],
    })
    for (const [tool, text] of [
      ['render', 'exit code 1'],
      ['other', 'the log'],
    ] as const) {
      const { taskId } = (await w.call({}, {}, tool)).result
      expect((await w.get(taskId)).result).toMatchObject({
        status: 'completed',
        result: { isError: true, content: [{ text }] },
      })
    }
  })

  it('reads the upstream once for many readers at a time', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.get.push({ delayMs: 100, body: { id: '1', status: 'running', message: 'seen' } })
    const answers = await Promise.all(Array.from({ length: 30 }, () => w.get(taskId)))
    expect(new Set(answers.map(({ result }) => result.statusMessage))).toEqual(new Set(['seen']))
    expect(w.up.count('GET', '/jobs/1')).toBe(1)
  })

  it('shares errors as well', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.get.push({ delayMs: 100, status: 503 })
    const answers = await Promise.all(Array.from({ length: 12 }, () => w.get(taskId)))
    for (const { result } of answers) expect(result.statusMessage).toContain('503')
    expect(w.up.count('GET', '/jobs/1')).toBe(1)
  })

  it('reads the upstream at most once per interval, however often clients ask', async () => {
    const w = await world()
    const taskId = await w.start()
    for (let second = 0; second < 60; second++) {
      for (let client = 0; client < 5; client++) await w.get(taskId)
      w.clock.now += 1_000
    }
    expect(w.up.count('GET', '/jobs/1')).toBeLessThanOrEqual(60 / 4.75 + 1)
    expect(w.up.count('GET', '/jobs/1')).toBeGreaterThanOrEqual(12)
  })

  it('gives a client that waits out its interval a fresh state', async () => {
    const w = await world()
    const taskId = await w.start()
    const { pollIntervalMs } = (await w.get(taskId)).result
    w.up.setState('1', { message: 'moved on' })
    w.clock.now += pollIntervalMs
    expect((await w.get(taskId)).result.statusMessage).toBe('moved on')
  })

  it('shares snapshots between replicas', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const [store, clock] = [new Map(), { now: Date.now() }]
    const one = await world({ up, clock, options: { store } })
    const two = await world({ up, clock, options: { store } })
    const taskId = await one.start()
    for (let round = 0; round < 4; round++) {
      await Promise.all([one.get(taskId), two.get(taskId), one.get(taskId), two.get(taskId)])
      clock.now += 5_000
    }
    expect(up.count('GET', '/jobs/1')).toBe(4)
  })

  it('lets one replica look, and the other answer from the last snapshot meanwhile', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const [store, clock] = [new Map(), { now: Date.now() }]
    const one = await world({ up, clock, options: { store } })
    const two = await world({ up, clock, options: { store } })
    const taskId = await one.start()
    up.setState('1', { message: 'first' })
    await one.get(taskId)
    clock.now += 6_000
    let release: (answer: object) => void = () => {}
    up.script.get.push(() => new Promise((resolve) => (release = resolve)))
    const slow = one.get(taskId)
    await up.waitFor((upstream) => upstream.count('GET', '/jobs/1') === 2)
    expect((await two.get(taskId)).result.statusMessage).toBe('first')
    release({ body: { id: '1', status: 'done', output: 'x' } })
    expect((await slow).result.status).toBe('completed')
    expect((await two.get(taskId)).result.status).toBe('completed')
    expect(up.count('GET', '/jobs/1')).toBe(2)
  })

  it('has one outcome when two replicas see different ends', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const [store, clock] = [new Map(), { now: Date.now() }]
    const one = await world({ up, clock, options: { store } })
    const two = await world({ up, clock, options: { store } })
    const taskId = await one.start()
    let release: (answer: object) => void = () => {}
    up.script.get.push(() => new Promise((resolve) => (release = resolve)), { body: { id: '1', status: 'cancelled' } })
    const slow = one.get(taskId)
    await up.waitFor((upstream) => upstream.count('GET', '/jobs/1') === 1)
    // The first replica is so slow that its lease runs out.
    clock.now += 60_000
    expect((await two.get(taskId)).result.status).toBe('cancelled')
    release({ body: { id: '1', status: 'done', output: 'late' } })
    expect((await slow).result.status).toBe('cancelled')
    expect((await one.get(taskId)).result.status).toBe('cancelled')
  })

  it('answers within its time limit when the upstream says nothing', async () => {
    const w = await world({ policy: { timeouts: { get: 200 } } })
    const taskId = await w.start()
    w.up.setState('1', { message: 'stage 3' })
    await w.get(taskId)
    w.clock.now += 6_000
    w.up.script.get.push({ hang: true })
    const { result } = await w.get(taskId)
    expect(result).toMatchObject({
      status: 'working',
      statusMessage: expect.stringMatching(/200 ms.*Last known: stage 3/),
    })
  })

  it('asks with a condition where the upstream gives an ETag, and counts 304 as fresh', async () => {
    const w = await world()
    const taskId = await w.start()
    const etag = { etag: '"a"' }
    w.up.script.get.push(
      { headers: etag, body: { id: '1', status: 'running', message: 'as before' } },
      { status: 304, headers: etag },
    )
    await w.get(taskId)
    w.clock.now += 5_000
    expect((await w.get(taskId)).result.statusMessage).toBe('as before')
    expect(w.up.requests.at(-1)?.headers['if-none-match']).toBe('"a"')
    await w.get(taskId)
    expect(w.up.count('GET', '/jobs/1')).toBe(2)
  })

  it('moves lastUpdatedAt only when something changes', async () => {
    const w = await world()
    const taskId = await w.start()
    const seen: string[] = []
    for (const message of ['a', 'a', 'b', 'b']) {
      w.up.setState('1', { message })
      seen.push((await w.get(taskId)).result.lastUpdatedAt)
      w.clock.now += 5_000
    }
    expect(seen[1]).toBe(seen[0])
    expect(Date.parse(seen[2] ?? '')).toBeGreaterThan(Date.parse(seen[1] ?? ''))
    expect(seen[3]).toBe(seen[2])
  })

  it('survives a restart: the job goes on, and so does the task', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const store = new Map()
    const first = await world({ up, options: { store } })
    const taskId = await first.start()
    await first.jobs.close()
    const second = await world({ up, options: { store } })
    up.setState('1', { status: 'done', output: 'after all' })
    expect((await second.get(taskId)).result).toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'after all' }] },
    })
  })

  it('keeps a task whose tool is no longer configured, and says so', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const store = new Map()
    const taskId = await (await world({ up, options: { store } })).start()
    const { defineJobTool } = await import('mcp-job-tools')
    const { httpJob } = await import('mcp-job-tools/adapters/http')
    const { z } = await import('zod')
    const { usualJob } = await import('../support/world.js')
    const renamed = () => [
      defineJobTool({ name: 'renamed', input: z.object({ scene: z.string() }), job: httpJob(usualJob(up.url)) }),
    ]
    const second = await world({ up, tools: renamed, options: { store } })
    expect((await second.get(taskId)).result).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('"render" is not configured'),
    })
  })
})
