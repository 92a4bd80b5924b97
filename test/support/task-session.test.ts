import { InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { openTaskSession, type TaskSession } from '../../examples/support/task-session.js'
import { closing, world } from './world.js'

/* The tap of examples/support/task-session.ts when things go wrong: users copy it. That it works is shown by test/wire/client.test.ts. */

type Usual = StreamableHTTPClientTransport['send']
type Send = (message: Parameters<Usual>[0], options: Parameters<Usual>[1], send: Usual) => Promise<void>

/** A session whose requests of one method do not go the usual way. */
async function sessionWith(
  method: string,
  instead: Send,
): Promise<{ session: TaskSession; taskId: never; ids: unknown[]; methods: string[] }> {
  const w = await world()
  const taskId = (await w.start()) as never
  const transport = new StreamableHTTPClientTransport(new URL(w.url))
  const send: Usual = transport.send.bind(transport)
  const ids: unknown[] = []
  const methods: string[] = []
  transport.send = (message, options) => {
    if (Array.isArray(message) || !('method' in message)) return send(message, options)
    if ('id' in message) ids.push(message.id)
    methods.push(message.method)
    return message.method === method ? instead(message, options, send) : send(message, options)
  }
  const session = await openTaskSession({ transport, endpointId: 'test' })
  closing(() => session.close())
  return { session, taskId, ids, methods }
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

  it.each<[string, Send]>([
    ['is lost on the way', () => Promise.reject(new Error('the line is dead'))],
    ['is not answered in time', swallow],
    ['is answered with nothing', async (_, options) => options?.onRequestStreamEnd?.()],
  ])('is sent once when it is a call that %s: a second one would be a second job', async (_, instead) => {
    const { session, methods } = await sessionWith('tools/call', instead)
    const options = { task: { preference: 'prefer' as const }, requestTimeoutMs: 200 }
    await expect(session.tasks.callTool('render', { scene: 'sea' }, options)).rejects.toThrow()
    expect(methods.filter((method) => method === 'tools/call')).toHaveLength(1)
  })

  it('is sent again when it is a look, which is harmless', async () => {
    let failures = 0
    const { session, taskId, methods } = await sessionWith('tasks/get', (message, options, send) =>
      failures++ === 0 ? Promise.reject(new Error('the line is dead')) : send(message, options),
    )
    expect((await session.tasks.task(taskId).snapshot()).status).toBe('working')
    expect(methods.filter((method) => method === 'tasks/get')).toHaveLength(2)
  })

  it('ends its HTTP request when it is given up', async () => {
    const signals: (AbortSignal | undefined)[] = []
    const { session, taskId } = await sessionWith('tasks/get', async (_, options) => {
      signals.push(options?.requestSignal)
    })
    await expect(session.tasks.task(taskId, { requestTimeoutMs: 20 }).snapshot()).rejects.toThrow('no answer within')
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true])
  })

  it('is called off by a message where all requests share a channel, and its late answer is dropped', async () => {
    const w = await world()
    const taskId = (await w.start()) as never
    const [near, far] = InMemoryTransport.createLinkedPair()
    const server = await w.jobs.serveStdio({ name: 'test', version: '1.0.0' }, { transport: far })
    closing(() => server.close())
    const session = await openTaskSession({ transport: near, endpointId: 'test' })
    closing(() => session.close())
    const faults: unknown[] = []
    session.client.onerror = (error) => void faults.push(error)

    const answer = far.send.bind(far)
    const held: Parameters<typeof answer>[0][] = []
    // The answer to the look; the client itself may ask for other things meanwhile.
    far.send = async (message) => {
      if ('id' in message && String(message.id).startsWith('task-')) held.push(message)
      else await answer(message)
    }
    const sent: { id?: string; method?: string; params?: { requestId?: string } }[] = []
    const send = near.send.bind(near)
    near.send = (message, options) => {
      sent.push(message as never)
      return send(message, options)
    }
    const controller = new AbortController()
    const asked = session.tasks.task(taskId).snapshot(controller.signal)
    await expect.poll(() => held.length).toBe(1)
    controller.abort(new Error('enough'))
    await expect(asked).rejects.toThrow('enough')
    const look = sent.find(({ method }) => method === 'tasks/get')
    expect(sent.find(({ method }) => method === 'notifications/cancelled')?.params?.requestId).toBe(look?.id)
    far.send = answer
    for (const message of held) await answer(message)
    expect((await session.tasks.task(taskId).snapshot()).status).toBe('working')
    expect(faults).toEqual([])
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
