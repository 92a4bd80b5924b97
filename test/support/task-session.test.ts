import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { openTaskSession, type TaskSession } from '../../examples/support/task-session.js'
import { closing, world } from './world.js'

/* The tap of examples/support/task-session.ts when things go wrong: users copy it. That it works is shown by test/wire/client.test.ts. */

type Send = StreamableHTTPClientTransport['send']

/** A session whose requests of one method do not go the usual way. */
async function sessionWith(
  method: string,
  instead: Send,
): Promise<{ session: TaskSession; taskId: never; ids: unknown[] }> {
  const w = await world()
  const taskId = (await w.start()) as never
  const transport = new StreamableHTTPClientTransport(new URL(w.url))
  const send: Send = transport.send.bind(transport)
  const ids: unknown[] = []
  transport.send = (message, options) => {
    if (!Array.isArray(message) && 'method' in message && 'id' in message) ids.push(message.id)
    const hit = !Array.isArray(message) && 'method' in message && message.method === method
    return hit ? instead(message, options) : send(message, options)
  }
  const session = await openTaskSession({ transport, endpointId: 'test' })
  closing(() => session.close())
  return { session, taskId, ids }
}

const never: Send = () => new Promise(() => undefined)
const swallow: Send = async () => undefined

describe('a request beside the client', () => {
  it('has an id that the client never uses', async () => {
    const { session, taskId, ids } = await sessionWith('none', swallow)
    await session.tasks.task(taskId).snapshot()
    await session.client.listTools()
    await session.tasks.task(taskId).snapshot()
    expect(new Set(ids).size).toBe(ids.length)
    // Text of its own, where the client counts up numbers.
    expect(ids.filter((id) => String(id).startsWith('task-'))).toHaveLength(2)
    expect(ids.filter((id) => typeof id === 'number').length).toBeGreaterThanOrEqual(1)
  })

  it('ends when its time is up', async () => {
    const { session, taskId } = await sessionWith('tasks/get', swallow)
    const asked = session.tasks.task(taskId, { requestTimeoutMs: 20 }).snapshot()
    await expect(asked).rejects.toThrow('no answer within 20 ms')
  })

  it('ends when the caller gives it up, before and after it is sent', async () => {
    const { session, taskId } = await sessionWith('tasks/get', never)
    const controller = new AbortController()
    const asked = session.tasks.task(taskId).snapshot(controller.signal)
    controller.abort(new Error('enough'))
    await expect(asked).rejects.toThrow('enough')
    await expect(session.tasks.task(taskId).snapshot(AbortSignal.abort(new Error('too late')))).rejects.toThrow()
  })

  it('ends when the connection closes', async () => {
    const { session, taskId } = await sessionWith('tasks/get', swallow)
    const asked = session.tasks.task(taskId).snapshot()
    await Promise.all([expect(asked).rejects.toThrow(), session.client.close()])
  })

  it('ends when it cannot be sent', async () => {
    const { session, taskId } = await sessionWith('tasks/get', () => Promise.reject(new Error('the line is dead')))
    await expect(session.tasks.task(taskId).snapshot()).rejects.toThrow('the line is dead')
  })
})
