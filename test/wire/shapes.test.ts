import {
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
  UpdateTaskResultV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2'
import { describe, expect, it } from 'vitest'
import { rpc, rpc2025 } from '../support/rpc.js'
import { type World, world } from '../support/world.js'

/** Every state a task can be shown in. */
async function everyState(w: World): Promise<Record<string, unknown>> {
  const shown: Record<string, unknown> = {}
  const look = async (name: string, state: Record<string, unknown> | undefined) => {
    const taskId = await w.start()
    const id = String(w.up.jobs.size)
    if (state) w.up.setState(id, state)
    else w.up.forget(id)
    if (!state) w.clock.now += 200_000
    shown[name] = (await w.get(taskId)).result
  }
  await look('working', { status: 'running', message: 'm', percent: 3 })
  await look('input_required', {
    status: 'waiting',
    questions: [{ key: 'go', text: 'Go?', form: { a: { type: 'string' } } }],
  })
  await look('completed', { status: 'done', output: { a: 1 } })
  await look('completed with isError', { status: 'error', reason: 'r' })
  await look('cancelled', { status: 'cancelled' })
  await look('failed', undefined)
  return shown
}

describe('the shapes of revision 2026-07-28', () => {
  it('fit the official schemas in every state', async () => {
    const w = await world()
    for (const [name, state] of Object.entries(await everyState(w))) {
      const parsed = GetTaskResultV2Schema.safeParse(state)
      expect(parsed.success, `${name}: ${parsed.error?.message}`).toBe(true)
      expect(name.startsWith((state as { status: string }).status)).toBe(true)
    }
  })

  it('have exactly their members', async () => {
    const w = await world()
    const { result } = await w.call()
    expect(CreateTaskResultV2Schema.safeParse(result).success).toBe(true)
    const base = [
      'createdAt',
      'lastUpdatedAt',
      'pollIntervalMs',
      'resultType',
      'status',
      'statusMessage',
      'taskId',
      'ttlMs',
    ]
    const members = (value: object) =>
      Object.keys(value)
        .filter((name) => name !== '_meta')
        .sort()
    expect(members(result)).toEqual(base)
    const states = await everyState(w)
    expect(members(states.working as object)).toEqual(base)
    expect(members(states.input_required as object)).toEqual([...base, 'inputRequests'].sort())
    expect(members(states.completed as object)).toEqual([...base, 'result'].sort())
    expect(members(states.cancelled as object)).toEqual(base)
    expect(members(states.failed as object)).toEqual([...base, 'error'].sort())
    const ack = (await w.cancel(result.taskId)).result
    expect(members(ack)).toEqual(['resultType'])
    expect(UpdateTaskResultV2Schema.safeParse(ack).success).toBe(true)
  })

  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s needs the declaration on the very request',
    async (method) => {
      const w = await world()
      const taskId = await w.start()
      const { status, error } = await rpc(w.url, method, { taskId, inputResponses: {} }, { tasks: false })
      expect(status).toBe(400)
      expect(error).toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
      })
    },
  )

  it('need the right Mcp-Name', async () => {
    const w = await world()
    const taskId = await w.start()
    const response = await fetch(w.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tasks/get',
        'mcp-name': 'another',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tasks/get',
        params: { taskId, _meta: (await import('../support/rpc.js')).envelope({}) },
      }),
    })
    expect([response.status, ((await response.json()) as { error: { code: number } }).error.code]).toEqual([
      400, -32020,
    ])
  })
})

describe('one endpoint', () => {
  it('gives interleaved clients of three kinds each their own', async () => {
    const w = await world({ policy: { waitMs: 0 } })
    const rounds = Array.from({ length: 5 }, async () => {
      const [modern, plain, older, task2025] = await Promise.all([
        w.call(),
        w.call({}, { tasks: false }),
        rpc2025(w.url, 'tools/call', { name: 'render', arguments: {} }),
        rpc2025(w.url, 'tools/call', { name: 'render', arguments: {}, task: {} }),
      ])
      expect(modern.result.resultType).toBe('task')
      expect(plain.result.content[0].text).toMatch(/^NOT FINISHED/)
      expect(older.result.content[0].text).toMatch(/^NOT FINISHED/)
      expect(older.result.resultType).toBeUndefined()
      expect(task2025.result.task.status).toBe('working')
    })
    await Promise.all(rounds)
  })
})
