import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { type FaultyUpstream, faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { type Elicitation, openTaskSession, type TaskSession } from '../../examples/support/task-session.js'
import { closing, world } from '../support/world.js'

/* The official client, whole: @modelcontextprotocol/client with ext-tasks/client, over HTTP and over stdio. */

const quick = { pollIntervalMs: 50, minPollIntervalMs: 20 }
const accept = async () => ({ action: 'accept' as const, content: {} })

interface Bench {
  up: FaultyUpstream
  open: (onElicitation?: (request: Elicitation) => ReturnType<typeof accept>) => Promise<TaskSession>
  /** Ends the server and starts it again on the same store. */
  restart: () => Promise<void>
}

async function overHttp(): Promise<Bench> {
  const up = await faultyUpstream()
  closing(() => up.close())
  const store = new Map()
  const clock = {
    get now() {
      return Date.now()
    },
    set now(_: number) {},
  }
  let w = await world({ up, policy: quick, options: { store }, clock })
  return {
    up,
    open: async (onElicitation = accept) => {
      const session = await openTaskSession({
        transport: new StreamableHTTPClientTransport(new URL(w.url)),
        endpointId: 'test',
        onElicitation,
      })
      closing(() => session.close())
      return session
    },
    restart: async () => {
      await w.jobs.close()
      w = await world({ up, policy: quick, options: { store }, clock })
    },
  }
}

async function overStdio(): Promise<Bench> {
  const up = await faultyUpstream()
  closing(() => up.close())
  const folder = await mkdtemp(join(tmpdir(), 'mcp-job-tools-'))
  closing(() => rm(folder, { recursive: true, force: true }))
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const last: { session?: TaskSession } = {}
  return {
    up,
    open: async (onElicitation = accept) => {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [join(root, 'node_modules/tsx/dist/cli.mjs'), join(root, 'test/support/stdio-server.ts')],
        cwd: root,
        env: { ...(process.env as Record<string, string>), UPSTREAM: up.url, STORE: join(folder, 'jobs.lmdb') },
      })
      const session = await openTaskSession({ transport, endpointId: 'test', onElicitation })
      last.session = session
      closing(() => session.close())
      return session
    },
    // The process ends with its connection; the next session starts another.
    restart: async () => last.session?.client.close(),
  }
}

describe.each([
  ['HTTP', overHttp],
  ['stdio', overStdio],
])('the official client over %s', (_, bench) => {
  const call = (session: TaskSession) =>
    session.tasks.callTool('render', { scene: 'sea' }, { task: { preference: 'prefer' } })

  it('completes a task', async () => {
    const { up, open } = await bench()
    const execution = await call(await open())
    expect(execution.kind).toBe('task')
    await up.waitFor(({ requests }) => requests.filter(({ method }) => method === 'GET').length >= 2)
    up.setState('1', { status: 'done', output: 'the film' })
    const { outcome } = await execution.settle()
    expect(outcome).toMatchObject({ status: 'completed', result: { content: [{ type: 'text', text: 'the film' }] } })
  })

  it('answers a question', async () => {
    const { up, open } = await bench()
    const asked: Elicitation[] = []
    const session = await open(async (request) => {
      asked.push(request)
      return { action: 'accept', content: { why: 'because' } }
    })
    const execution = await call(session)
    up.setState('1', {
      status: 'waiting',
      questions: [{ key: 'go', text: 'Deploy?', form: { why: { type: 'string' } } }],
    })
    await up.waitFor((upstream) => upstream.count('POST', '/jobs/1/answer') === 1)
    up.setState('1', { status: 'done', output: 'deployed' })
    expect((await execution.settle()).outcome.status).toBe('completed')
    expect(asked.map(({ message }) => message)).toEqual(['Deploy?'])
    expect(up.requests.find(({ path }) => path === '/jobs/1/answer')?.body).toMatchObject({
      answer: { why: 'because' },
    })
  })

  it('cancels a task', async () => {
    const { up, open } = await bench()
    const session = await open()
    const execution = await call(session)
    const taskId = execution.handle?.taskId as never
    await execution.cancel()
    const { outcome } = await execution.settle()
    expect(outcome.status).toBe('cancelled')
    // The client does not wait for the job to stop; the job is told all the same.
    await up.waitFor((upstream) => upstream.count('POST', '/jobs/1/cancel') === 1)
    expect((await session.tasks.task(taskId).snapshot()).status).toBe('cancelled')
  })

  it('is told of a task that failed', async () => {
    const { up, open } = await bench()
    const execution = await call(await open())
    up.setState('1', { status: 'error', reason: 'boom' })
    // A job that ran and failed is an answer.
    expect((await execution.settle()).outcome).toMatchObject({ status: 'completed', result: { isError: true } })
  })

  it('recovers a task after a server restart, in a new session', async () => {
    const { up, open, restart } = await bench()
    const execution = await call(await open())
    if (execution.kind !== 'task') throw new Error('no task')
    const reference = execution.serializeReference()
    await execution.detach()
    await restart()
    const resumed = await (await open()).tasks.resumeTask(reference)
    up.setState('1', { status: 'done', output: 'after the restart' })
    expect((await resumed.settle()).outcome).toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'after the restart' }] },
    })
    expect(up.count('POST', '/jobs')).toBe(1)
  })

  it('is told that an unknown task is not found', async () => {
    const { open } = await bench()
    const { tasks } = await open()
    await expect(tasks.task('A'.repeat(32) as never).snapshot()).rejects.toMatchObject({ code: -32602 })
  })
})
