import { CreateTaskResultV1Schema, TaskV1Schema } from '@modelcontextprotocol/ext-tasks/core/v1'
import { describe, expect, it } from 'vitest'
import { type Declares, rpc2025 } from '../support/rpc.js'
import { type World, world } from '../support/world.js'

const alice = { user: 'alice' }
const start = async (w: World, declares?: Declares) =>
  (await rpc2025(w.url, 'tools/call', { name: 'render', arguments: {}, task: { ttl: 60_000 } }, declares)).result.task
    .taskId
const ask = (w: World, method: string, params: Record<string, unknown>, declares?: Declares) =>
  rpc2025(w.url, method, params, declares)

describe('tasks of revision 2025-11-25', () => {
  it('are advertised in initialize, and in the listing', async () => {
    const w = await world()
    const { result } = await ask(w, 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    })
    expect(result.capabilities.tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } })
    expect((await ask(w, 'tools/list', {})).result.tools[0]).toMatchObject({
      name: 'render',
      execution: { taskSupport: 'optional' },
    })
    const required = await world({ policy: { withoutTasks: 'reject' } })
    expect((await ask(required, 'tools/list', {})).result.tools[0].execution).toEqual({ taskSupport: 'required' })
  })

  it('go from call to result', async () => {
    const w = await world()
    const created = await ask(w, 'tools/call', { name: 'render', arguments: {}, task: {} })
    expect(CreateTaskResultV1Schema.safeParse(created.result).success).toBe(true)
    const { taskId } = created.result.task
    expect(TaskV1Schema.safeParse((await ask(w, 'tasks/get', { taskId })).result).success).toBe(true)
    w.up.setState('1', { status: 'done', output: 'the film' })
    w.clock.now += 6_000
    expect((await ask(w, 'tasks/get', { taskId })).result).toMatchObject({
      status: 'completed',
      ttl: expect.any(Number),
      pollInterval: 5_000,
    })
    const { result } = await ask(w, 'tasks/result', { taskId })
    expect(result).toMatchObject({
      content: [{ text: 'the film' }],
      _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
    })
  })

  it('wait for a result no longer than the tool allows, then say that the job still runs', async () => {
    const w = await world({ policy: { waitMs: 100, minPollIntervalMs: 20 } })
    const taskId = await start(w)
    expect((await ask(w, 'tasks/result', { taskId })).error).toMatchObject({
      code: -32603,
      message: expect.stringMatching(/still running.*Poll tasks\/get/),
    })
    w.up.setState('1', { status: 'waiting', questions: [{ key: 'go', text: 'Go?' }] })
    w.clock.now += 10_000
    expect((await ask(w, 'tasks/result', { taskId })).error?.message).toContain('waits for an answer')
  })

  it('call a job that failed a failed task, whose result is the error result', async () => {
    const w = await world()
    const taskId = await start(w)
    w.up.setState('1', { status: 'error', reason: 'boom' })
    expect((await ask(w, 'tasks/get', { taskId })).result.status).toBe('failed')
    expect((await ask(w, 'tasks/result', { taskId })).result).toMatchObject({ isError: true })
  })

  it('are cancelled for good, and not twice', async () => {
    const w = await world()
    const taskId = await start(w)
    w.up.script.cancel.push({ status: 202 })
    expect((await ask(w, 'tasks/cancel', { taskId })).result).toMatchObject({ taskId, status: 'cancelled' })
    expect(w.up.count('POST', '/jobs/1/cancel')).toBe(1)
    w.up.setState('1', { status: 'done', output: 'too late' })
    expect((await ask(w, 'tasks/get', { taskId })).result.status).toBe('cancelled')
    expect((await ask(w, 'tasks/cancel', { taskId })).error?.code).toBe(-32602)
    expect((await ask(w, 'tasks/result', { taskId })).error?.message).toContain('cancelled')
  })

  it('report the truth when the job was faster than its cancel', async () => {
    const w = await world()
    const taskId = await start(w)
    w.up.script.cancel.push({ status: 409 })
    w.up.setState('1', { status: 'done', output: 'was faster' })
    expect((await ask(w, 'tasks/cancel', { taskId })).error?.code ?? -32602).toBe(-32602)
    expect((await ask(w, 'tasks/get', { taskId })).result.status).toBe('completed')
  })

  it("list the caller's own, newest first, page by page", async () => {
    const w = await world()
    const mine: string[] = []
    for (let n = 0; n < 60; n++) {
      mine.unshift(await start(w, alice))
      w.clock.now += 1
    }
    await start(w, { user: 'bob' })
    const first = (await ask(w, 'tasks/list', {}, alice)).result
    expect(first.tasks.map(({ taskId }: { taskId: string }) => taskId)).toEqual(mine.slice(0, 50))
    const rest = (await ask(w, 'tasks/list', { cursor: first.nextCursor }, alice)).result
    expect(rest.tasks.map(({ taskId }: { taskId: string }) => taskId)).toEqual(mine.slice(50))
    expect(rest.nextCursor).toBeUndefined()
    expect(w.up.requests.filter(({ method }) => method === 'GET')).toHaveLength(0)
  })

  it('belong to their owner, and unknown ones are -32602', async () => {
    const w = await world()
    const taskId = await start(w, alice)
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      expect((await ask(w, method, { taskId }, { user: 'bob' })).error).toEqual({
        code: -32602,
        message: 'Task not found',
      })
    }
  })

  it('know no tasks/update', async () => {
    const w = await world()
    expect((await ask(w, 'tasks/update', { taskId: await start(w), inputResponses: {} })).error?.code).toBe(-32601)
  })

  it('say what went wrong when there is no job to follow', async () => {
    const w = await world()
    w.up.script.create.push({ status: 422, body: { message: 'no such scene' } })
    const { error } = await ask(w, 'tools/call', { name: 'render', arguments: {}, task: {} })
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('no such scene') })
  })
})
