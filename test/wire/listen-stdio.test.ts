import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { type Declares, envelope } from '../support/rpc.js'
import { closing } from '../support/world.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

// biome-ignore lint/suspicious/noExplicitAny: tests read whatever the wire holds.
type Message = any

/** A stdio server, spoken to line by line. */
async function connect() {
  const up = await faultyUpstream()
  closing(() => up.close())
  const folder = await mkdtemp(join(tmpdir(), 'mcp-job-tools-'))
  const env = { ...process.env, UPSTREAM: up.url, STORE: join(folder, 'jobs.lmdb') }
  const child = spawn(process.execPath, ['--import', 'tsx', join(root, 'test/support/stdio-server.ts')], {
    cwd: root,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  closing(async () => {
    child.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true })
  })
  const seen: Message[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    seen.push(JSON.parse(line))
    for (const look of waiting) look()
  })
  const find = (predicate: (message: Message) => boolean) =>
    new Promise<Message>((resolve) => {
      const look = () => {
        const at = seen.findIndex(predicate)
        if (at < 0) return
        waiting.delete(look)
        resolve(seen.splice(at, 1)[0])
      }
      waiting.add(look)
      look()
    })
  const write = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const send = (id: string, method: string, params: Record<string, unknown>, declares: Declares = {}) =>
    write({ id, method, params: { ...params, _meta: envelope(declares) } })
  const ask = (id: string, method: string, params: Record<string, unknown>, declares?: Declares) => {
    send(id, method, params, declares)
    return find((message) => message.id === id)
  }
  /** The next message of a subscription, whatever it is. */
  const next = (id: string) => find((message) => message.params?._meta?.[SUBSCRIPTION] === id || message.id === id)
  return { up, write, send, ask, next, seen }
}

describe('subscriptions/listen with taskIds over stdio', { timeout: 60_000 }, () => {
  it('acknowledges, tells each state as a whole task, and ends after the end', async () => {
    const { up, send, ask, next } = await connect()
    const { taskId } = (await ask('c1', 'tools/call', { name: 'render', arguments: { scene: 'a' } })).result
    send('s1', 'subscriptions/listen', { notifications: { taskIds: [taskId, 'nope'] } })
    expect(await next('s1')).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: [taskId] } },
    })
    expect((await next('s1')).params).toMatchObject({ taskId, status: 'working' })
    up.setState('1', { status: 'done', output: 'x' })
    expect((await next('s1')).params).toMatchObject({ status: 'completed', result: { content: [{ text: 'x' }] } })
    expect(await next('s1')).toMatchObject({
      id: 's1',
      result: { resultType: 'complete', _meta: { [SUBSCRIPTION]: 's1' } },
    })
  })

  it('refuses what it must', async () => {
    const { ask } = await connect()
    const { taskId } = (await ask('c1', 'tools/call', { name: 'render', arguments: { scene: 'a' } })).result
    expect(
      (await ask('s1', 'subscriptions/listen', { notifications: { taskIds: [taskId] } }, { tasks: false })).error?.code,
    ).toBe(-32021)
    expect((await ask('s2', 'subscriptions/listen', { notifications: { taskIds: 'x' } })).error?.code).toBe(-32602)
    expect((await ask('s3', 'subscriptions/listen', {})).error?.code).toBe(-32602)
  })

  it('stops when the client cancels the request, and goes on with others', async () => {
    const { up, write, send, ask, next, seen } = await connect()
    const { taskId } = (await ask('c1', 'tools/call', { name: 'render', arguments: { scene: 'a' } })).result
    for (const id of ['s1', 's2']) {
      send(id, 'subscriptions/listen', { notifications: { taskIds: [taskId], toolsListChanged: true } })
      expect((await next(id)).params.notifications).toEqual({ taskIds: [taskId], toolsListChanged: true })
      expect((await next(id)).params.status).toBe('working')
    }
    write({ method: 'notifications/cancelled', params: { requestId: 's1', _meta: envelope({}) } })
    up.setState('1', { message: 'after the cancel' })
    expect((await next('s2')).params.statusMessage).toBe('after the cancel')
    expect(
      seen.filter(
        (message) => message.params?._meta?.[SUBSCRIPTION] === 's1' && message.method === 'notifications/tasks',
      ),
    ).toEqual([])
  })
})
