import { TaskStatusNotificationV2Schema } from '@modelcontextprotocol/ext-tasks/core/v2'
import { McpServer } from '@modelcontextprotocol/server'
import { createJobTools, defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { listen } from '../support/listen.js'
import { envelope, rpc } from '../support/rpc.js'
import { serve } from '../support/serve.js'
import { closing, usualJob, world } from '../support/world.js'

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
const quick = { pollIntervalMs: 40, minPollIntervalMs: 20 }
const realTime = {
  get now() {
    return Date.now()
  },
  set now(_: number) {},
}

const listening = () => world({ policy: quick, clock: realTime })

describe('subscriptions/listen with taskIds', () => {
  it('acknowledges, tells the present state, each change as a whole task, and ends properly after the end', async () => {
    const w = await listening()
    const taskId = await w.start()
    const { next, messages } = await listen(w.url, { taskIds: [taskId] })
    expect(await next()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: [taskId] }, _meta: { [SUBSCRIPTION]: 'sub-1' } },
    })
    const first = await next()
    expect(TaskStatusNotificationV2Schema.safeParse(first).success).toBe(true)
    expect(first.params).toMatchObject({ taskId, status: 'working', _meta: { [SUBSCRIPTION]: 'sub-1' } })
    w.up.setState('1', { message: 'stage 2' })
    expect((await next()).params).toMatchObject({ status: 'working', statusMessage: 'stage 2' })
    w.up.setState('1', { status: 'waiting', questions: [{ key: 'go', text: 'Go?' }] })
    expect((await next()).params).toMatchObject({ status: 'input_required', inputRequests: { go: {} } })
    w.up.setState('1', { status: 'done', questions: [], output: 'x' })
    expect((await next()).params).toMatchObject({
      status: 'completed',
      result: { resultType: 'complete', content: [{ text: 'x' }] },
    })
    expect(await next()).toEqual({
      jsonrpc: '2.0',
      id: 'sub-1',
      result: { resultType: 'complete', _meta: { [SUBSCRIPTION]: 'sub-1' } },
    })
    expect((await messages?.next())?.done).toBe(true)
  })

  it('delivers the end to one who comes after it', async () => {
    const w = await listening()
    const taskId = await w.start()
    w.up.setState('1', { status: 'done', output: 'x' })
    await w.get(taskId)
    const { next } = await listen(w.url, { taskIds: [taskId] })
    await next()
    expect((await next()).params.status).toBe('completed')
    expect((await next()).result).toMatchObject({ resultType: 'complete' })
  })

  it('accepts ids one by one, by owner', async () => {
    const w = await listening()
    const mine = await w.start({}, { user: 'alice' })
    const theirs = await w.start({}, { user: 'bob' })
    const { next } = await listen(w.url, { taskIds: [theirs, mine, 'nope', mine] }, { user: 'alice' })
    expect((await next()).params.notifications.taskIds).toEqual([mine])
  })

  it('refuses a request that does not declare tasks, and ids that are no list', async () => {
    const w = await listening()
    const taskId = await w.start()
    const undeclared = await listen(w.url, { taskIds: [taskId] }, { tasks: false })
    expect(undeclared.response.status).toBe(400)
    expect(await undeclared.refusal()).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
    })
    for (const taskIds of [taskId, 7, [7], Array.from({ length: 1_001 }, String)]) {
      expect((await (await listen(w.url, { taskIds })).refusal()).code).toBe(-32602)
    }
  })

  it('leaves the other filters to the SDK, in one stream with the tasks', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const jobs = createJobTools({
      tools: [
        defineJobTool({
          name: 'render',
          input: z.object({ scene: z.string().default('a') }),
          job: httpJob(usualJob(up.url)),
          ...quick,
        }),
      ],
      store: new Map(),
    })
    closing(() => jobs.close())
    const handler = jobs.handler(
      () => new McpServer({ name: 'host', version: '1' }, { capabilities: { tools: { listChanged: true } } }),
    )
    const served = await serve(handler)
    closing(() => served.close())
    const { taskId } = (await rpc(served.url, 'tools/call', { name: 'render', arguments: {} })).result
    const { next } = await listen(served.url, { taskIds: [taskId], toolsListChanged: true, promptsListChanged: true })
    expect((await next()).params.notifications).toEqual({ taskIds: [taskId], toolsListChanged: true })
    expect((await next()).params.status).toBe('working')
    handler.notify.toolsChanged()
    expect(await next()).toMatchObject({
      method: 'notifications/tools/list_changed',
      params: { _meta: { [SUBSCRIPTION]: 'sub-1' } },
    })
    up.setState('1', { status: 'done', output: 'x' })
    expect((await next()).params.status).toBe('completed')
    // Tools may still change: the stream stays open.
    handler.notify.toolsChanged()
    expect((await next()).method).toBe('notifications/tools/list_changed')
  })

  it('passes listens without taskIds through untouched', async () => {
    const w = await listening()
    const { next } = await listen(w.url, { toolsListChanged: true })
    expect((await next()).params.notifications).toEqual({ toolsListChanged: true })
  })

  it('reads the upstream once per interval however many listen, and not at all when nobody does', async () => {
    const w = await listening()
    const taskId = await w.start()
    const streams = await Promise.all(Array.from({ length: 50 }, () => listen(w.url, { taskIds: [taskId] })))
    await Promise.all(streams.map(async ({ next }) => [await next(), await next()]))
    const before = w.up.count('GET', '/jobs/1')
    await w.up.waitFor((up) => up.count('GET', '/jobs/1') >= before + 5)
    const looks = w.eventsOf('looked').length
    expect(w.up.count('GET', '/jobs/1')).toBeLessThanOrEqual(looks + 1)
    for (const { stop } of streams) stop()
    await expect
      .poll(async () => {
        const now = w.up.requests.length
        await new Promise((resolve) => setTimeout(resolve, 150))
        return w.up.requests.length - now
      })
      .toBe(0)
  })

  it('tells a listener on one replica of an end that another saw', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const store = new Map()
    const one = await world({ up, policy: quick, clock: realTime, options: { store } })
    const two = await world({ up, policy: quick, clock: realTime, options: { store } })
    const taskId = await one.start()
    const { next } = await listen(two.url, { taskIds: [taskId] })
    await next()
    expect((await next()).params.status).toBe('working')
    up.setState('1', { status: 'done', output: 'x' })
    await one.until(taskId, 'completed')
    expect((await next()).params.status).toBe('completed')
  })

  it('gives a reader that falls behind the newest state of each task, and keeps no more for it', {
    timeout: 60_000,
  }, async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const jobs = createJobTools({
      tools: [
        defineJobTool({
          name: 'render',
          input: z.object({ scene: z.string().default('a') }),
          job: httpJob(usualJob(up.url)),
          pollIntervalMs: 1,
          minPollIntervalMs: 1,
        }),
      ],
      store: new Map(),
    })
    closing(() => jobs.close())
    const handler = jobs.handler({ name: 'x', version: '1' })
    const served = await serve(handler)
    closing(() => served.close())
    const { taskId } = (await rpc(served.url, 'tools/call', { name: 'render', arguments: {} })).result
    // Not over a socket, whose buffers would read ahead.
    const response = await handler.fetch(
      new Request(served.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'subscriptions/listen',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 's',
          method: 'subscriptions/listen',
          params: { notifications: { taskIds: [taskId] }, _meta: envelope({}) },
        }),
      }),
    )
    let changes = 0
    up.script.get.push(() => ({ body: { id: '1', status: 'running', message: `change ${++changes}` } }))
    await up.waitFor(() => changes >= 200)
    up.script.get.splice(0, 9, { body: { id: '1', status: 'done', output: 'the end' } })
    const text = await response.text()
    const frames = text.split('\n\n').filter((frame) => frame.includes('notifications/tasks'))
    expect(frames.length).toBeLessThan(100)
    expect(frames.at(-1)).toContain('the end')
  })

  it('ends all streams properly when the tools are closed', async () => {
    const w = await listening()
    const taskId = await w.start()
    const { next, messages } = await listen(w.url, { taskIds: [taskId] })
    await next()
    await next()
    void w.jobs.close()
    expect(await next()).toMatchObject({ id: 'sub-1', result: { resultType: 'complete' } })
    expect((await messages?.next())?.done).toBe(true)
  })

  it('allows an owner so many streams and no more', async () => {
    const w = await listening()
    const taskId = await w.start()
    const streams = await Promise.all(Array.from({ length: 101 }, () => listen(w.url, { taskIds: [taskId] })))
    const refused = streams.filter(({ messages }) => messages === undefined)
    expect(refused).toHaveLength(1)
    expect(await refused[0]?.refusal()).toMatchObject({
      code: -32603,
      message: 'Subscription limit reached',
    })
  })
})
