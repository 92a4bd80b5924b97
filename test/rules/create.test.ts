import { createJobTools, defineJobTool } from 'mcp-job-tools'
import { type HttpJobDefinition, httpJob } from 'mcp-job-tools/adapters/http'
import { faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { FailingStore } from '../support/failing-store.js'
import { rpc } from '../support/rpc.js'
import { serve } from '../support/serve.js'
import { closing, usualJob, world } from '../support/world.js'

const withLocate = { locate: { path: '/jobs', query: { key: '{key}' }, id: 'jobs[0].id' } }

describe('create', () => {
  it('starts one job and answers at once with a task that can be read', async () => {
    const w = await world()
    const { result } = await w.call({ scene: 'sea' })
    expect(result).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 86_400_000, pollIntervalMs: 5_000 })
    expect(w.up.requests[0]?.body).toMatchObject({ scene: 'sea' })
    expect((await w.get(result.taskId)).result.status).toBe('working')
    expect(w.up.count('POST', '/jobs')).toBe(1)
  })

  it('has a record before the upstream is asked', async () => {
    const store = new FailingStore()
    const w = await world({ options: { store } })
    let keysAtCreate: string[] = []
    w.up.script.create.push(() => {
      keysAtCreate = store.keys()
      return {}
    })
    await w.start()
    expect(keysAtCreate.some((key) => key.includes('new:'))).toBe(true)
  })

  it('asks nothing of the upstream when the record cannot be written', async () => {
    const store = new FailingStore()
    const w = await world({ options: { store } })
    await w.start()
    store.failWrites = true
    const { error } = await w.call()
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('task store') })
    expect(w.up.count('POST', '/jobs')).toBe(1)
  })

  const refusals: [status: number, body: unknown, words: string][] = [
    [400, { message: 'scene is unknown' }, 'scene is unknown'],
    [401, { error: 'who are you' }, 'who are you'],
    [403, { error: { message: 'not yours' } }, 'not yours'],
    [404, 'no such farm', 'no such farm'],
    [409, { detail: 'already queued' }, 'already queued'],
    [422, { code: 'idempotency_key_reuse', message: 'key was used' }, 'key was used'],
    [429, { message: 'slow down' }, 'slow down'],
  ]
  it.each(refusals)(
    'answers a refusal (%i) as a result with the upstream words, and makes no task',
    async (status, body, words) => {
      const w = await world()
      w.up.script.create.push({ status, body })
      const { result } = await w.call()
      expect(result).toMatchObject({ resultType: 'complete', isError: true })
      expect(result.content[0].text).toMatch(/^The job was not started\./)
      expect(result.content[0].text).toContain(words)
      expect(w.eventsOf('create_refused')).toHaveLength(1)
    },
  )

  it.each([201, 200, 202])('takes %i for an accepted create', async (status) => {
    const w = await world()
    w.up.script.create.push({ status, body: { id: 'x1' } })
    expect((await w.call()).result.resultType).toBe('task')
  })

  const lost: [string, Partial<HttpJobDefinition>, object][] = [
    ['a connection cut before the answer', {}, { cut: 'before', takesEffect: true }],
    ['a connection cut in the answer', {}, { cut: 'body', takesEffect: true }],
    ['a gateway timeout', {}, { status: 408, takesEffect: true }],
    ['a server error', {}, { status: 500, takesEffect: true }],
    ['a bad gateway', {}, { status: 502, body: '<html>bad gateway</html>', takesEffect: true }],
    ['an answer without an id', {}, { status: 201, body: {}, takesEffect: true }],
  ]
  it.each(lost)('finds the job after %s, and never asks twice', async (_, job, answer) => {
    const w = await world({ job: { ...job, ...withLocate } })
    w.up.script.create.push(answer)
    const taskId = await w.start()
    expect(w.up.count('POST', '/jobs')).toBe(1)
    w.up.setState('1', { status: 'done', output: 'found' })
    expect((await w.until(taskId, 'completed')).result.result.content[0].text).toBe('found')
  })
  it.each(lost)(
    'says honestly that the outcome is unknown after %s when nothing can find the job',
    async (_, job, answer) => {
      const w = await world({ job })
      w.up.script.create.push(answer)
      const { result } = await w.call()
      expect(result).toMatchObject({ isError: true, structuredContent: { outcome: 'unknown', retryable: false } })
      expect(result.content[0].text).toContain('Outcome unknown: the job may be running')
      expect(w.up.count('POST', '/jobs')).toBe(1)
      expect(w.eventsOf('create_unknown')).toHaveLength(1)
      // The record is kept: the handle still tells what is known.
      const kept = await w.get(result.structuredContent.handle)
      expect(kept.result).toMatchObject({ status: 'completed', result: { isError: true } })
    },
  )

  it('names the time limit when the upstream never answers', async () => {
    const w = await world({ policy: { timeouts: { create: 200 } } })
    w.up.script.create.push({ hang: true })
    const { result } = await w.call()
    expect(result.content[0].text).toMatch(/Outcome unknown.*200 ms/)
  })

  it('is certain that no job exists when nothing could be sent', async () => {
    const w = await world({
      tools: () => [
        defineJobTool({
          name: 'render',
          input: z.object({}),
          job: httpJob(usualJob('http://127.0.0.1:9', { create: { method: 'POST', path: '/jobs', id: 'id' } })),
        }),
      ],
    })
    const { result } = await w.call()
    expect(result.content[0].text).toMatch(/^The job was not started\..*ECONNREFUSED/)
  })

  it('finishes and records a create whose caller is gone', async () => {
    const w = await world()
    const gone = new AbortController()
    w.up.script.create.push(async () => {
      gone.abort()
      return { delayMs: 50 }
    })
    await expect(w.call({}, { signal: gone.signal })).rejects.toThrow()
    await w.up.waitFor((up) => up.jobs.size === 1)
    await expect.poll(() => w.eventsOf('created')).toHaveLength(1)
    const taskId = w.eventsOf('created')[0]?.taskId
    expect((await w.get(taskId)).result.status).toBe('working')
  })

  it('hands the task out while a slow upstream still answers, and tells the rest by the task', async () => {
    const w = await world()
    w.up.script.create.push({ delayMs: 6_000 }, { delayMs: 6_000, status: 422, body: { message: 'too late' } })
    const { result } = await w.call()
    expect(result).toMatchObject({ resultType: 'task', status: 'working', statusMessage: 'The job is being started.' })
    await expect
      .poll(async () => (await w.get(result.taskId)).result.statusMessage, { timeout: 5_000 })
      .toContain('running')
    const refused = (await w.call()).result
    await expect
      .poll(async () => (await w.get(refused.taskId)).result, { timeout: 5_000 })
      .toMatchObject({
        status: 'completed',
        result: { isError: true, content: [{ text: expect.stringContaining('too late') }] },
      })
  })

  it('sends a cancel that came before the id existed, once it does', async () => {
    const w = await world()
    w.up.script.create.push({ delayMs: 5_500 })
    const { result } = await w.call()
    expect((await w.cancel(result.taskId)).result).toMatchObject({ resultType: 'complete' })
    expect((await w.get(result.taskId)).result.statusMessage).toContain('Cancel was requested')
    await w.up.waitFor((up) => up.count('POST', '/jobs/1/cancel') === 1)
    expect((await w.until(result.taskId, 'cancelled')).result.status).toBe('cancelled')
    expect(w.up.count('POST', '/jobs/1/cancel')).toBe(1)
  })

  it('cancels the job and reports both when its id cannot be stored', async () => {
    const store = new FailingStore()
    const w = await world({ options: { store } })
    await w.start()
    store.failKeys = /job:/
    const { error } = await w.call()
    expect(error?.code).toBe(-32603)
    expect(error?.message).toMatch(/job 2 was started but could not be recorded.*It was cancelled\./)
    expect(w.up.count('POST', '/jobs/2/cancel')).toBe(1)
  })

  it('says so when that job cannot be cancelled either', async () => {
    const store = new FailingStore()
    const w = await world({ options: { store } })
    await w.start()
    store.failKeys = /job:/
    w.up.script.cancel.push({ status: 500 })
    expect((await w.call()).error?.message).toMatch(/Cancelling it failed as well.*look for it upstream/)
  })

  it('settles at the next start what a crash left behind: found, or honestly unknown', async () => {
    const store = new Map()
    const clock = { now: Date.now() }
    const up = await faultyUpstream()
    closing(() => up.close())
    // The first process hangs in its create: for the second it is as good as dead.
    const first = await world({ up, clock, options: { store }, job: withLocate })
    up.script.create.push({ hang: true, takesEffect: true })
    const call = first.call().catch(() => undefined)
    await up.waitFor((upstream) => upstream.jobs.size === 1)
    up.script.create.length = 0
    clock.now += 120_000
    const second = await world({ up, clock, options: { store }, job: withLocate })
    await second.start()
    await expect.poll(() => second.eventsOf('created').map((event) => event.ref)).toContainEqual({ id: '1' })
    expect(up.count('POST', '/jobs')).toBe(2)
    void call
  })

  it('follows a redirect of a create nowhere', async () => {
    const w = await world()
    w.up.script.create.push({ status: 302, headers: { location: `${w.up.url}/elsewhere` } })
    const { result } = await w.call()
    expect(result.isError).toBe(true)
    expect(w.up.count('GET', '/elsewhere')).toBe(0)
  })

  it('binds twenty simultaneous calls to twenty different jobs', async () => {
    const w = await world()
    const tasks = await Promise.all(Array.from({ length: 20 }, () => w.start()))
    expect(new Set(tasks).size).toBe(20)
    expect(new Set(w.eventsOf('created').map((event) => event.ref.id)).size).toBe(20)
  })

  it('never collides between two upstreams that both count from 1', async () => {
    const [one, two] = [await faultyUpstream(), await faultyUpstream()]
    closing(() => one.close())
    closing(() => two.close())
    const tool = (name: string, url: string) =>
      defineJobTool({
        name,
        input: z.object({}),
        job: httpJob(usualJob(url, { create: { method: 'POST', path: '/jobs', id: 'id' } })),
      })
    const jobs = createJobTools({ tools: [tool('a', one.url), tool('b', two.url)], store: new Map() })
    closing(() => jobs.close())
    const served = await serve(jobs.handler({ name: 'x', version: '1' }))
    closing(() => served.close())
    const start = async (name: string) => (await rpc(served.url, 'tools/call', { name, arguments: {} })).result.taskId
    const [a, b] = [await start('a'), await start('b')]
    one.setState('1', { status: 'done', output: 'from one' })
    two.setState('1', { status: 'done', output: 'from two' })
    expect((await rpc(served.url, 'tasks/get', { taskId: a })).result.result.content[0].text).toBe('from one')
    expect((await rpc(served.url, 'tasks/get', { taskId: b })).result.result.content[0].text).toBe('from two')
  })
})
