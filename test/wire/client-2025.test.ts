import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createTaskSessionFromClient, type TaskEnabledSession } from '@modelcontextprotocol/ext-tasks/client'
import { type FaultyUpstream, faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { openTaskSession } from '../../examples/support/task-session.js'
import { closing, world } from '../support/world.js'

/* The official client of revision 2025-11-25, with the first generation of its tasks. */

const quick = { pollIntervalMs: 50, minPollIntervalMs: 20 }
const realTime = {
  get now() {
    return Date.now()
  },
  set now(_: number) {},
}
const root = fileURLToPath(new URL('../..', import.meta.url))

interface Older {
  client: Client
  tasks: TaskEnabledSession
  notifications: { method: string; params?: Record<string, unknown> }[]
}

async function open(transport: Transport, asked: string[] = []): Promise<Older> {
  const client = new Client({ name: 'older', version: '1.0.0' }, { capabilities: { elicitation: {} } })
  const notifications: Older['notifications'] = []
  client.setRequestHandler('elicitation/create', async (request) => {
    asked.push(request.params.message)
    return { action: 'accept', content: { why: 'because' } }
  })
  await client.connect(transport)
  const before = transport.onmessage
  transport.onmessage = (message, extra) => {
    if ('method' in message && !('id' in message)) notifications.push(message as never)
    before?.(message, extra)
  }
  const tasks = createTaskSessionFromClient(client, {
    endpointId: 'older',
    // A question about a task, which this generation of the session hands to its host.
    onInputRequest: async (request) => {
      asked.push(String((request.params as { message?: unknown } | undefined)?.message))
      return { action: 'accept', content: { why: 'because' } } as never
    },
  })
  closing(async () => {
    await tasks.close()
    await client.close()
  })
  return { client, tasks, notifications }
}

async function upstream(): Promise<FaultyUpstream> {
  const up = await faultyUpstream()
  closing(() => up.close())
  return up
}

const kinds: [string, () => Promise<{ up: FaultyUpstream; transport: () => Transport }>][] = [
  [
    'HTTP',
    async () => {
      const up = await upstream()
      const w = await world({ up, policy: quick, clock: realTime })
      return { up, transport: () => new StreamableHTTPClientTransport(new URL(w.url)) }
    },
  ],
  [
    'stdio',
    async () => {
      const up = await upstream()
      const folder = await mkdtemp(join(tmpdir(), 'mcp-job-tools-'))
      closing(() => rm(folder, { recursive: true, force: true }))
      const env = { ...(process.env as Record<string, string>), UPSTREAM: up.url, STORE: join(folder, 'jobs.lmdb') }
      const args = ['--import', 'tsx', join(root, 'test/support/stdio-server.ts')]
      return { up, transport: () => new StdioClientTransport({ command: process.execPath, args, cwd: root, env }) }
    },
  ],
]
const call = ({ tasks }: Older) =>
  tasks.callTool(
    'render',
    { scene: 'sea' },
    { task: { preference: 'prefer' }, declaration: { name: 'render', inputSchema: {}, taskSupport: 'optional' } },
  )

describe.each(kinds)('the official 2025 client over %s', (kind, start) => {
  it('completes a task', async () => {
    const { up, transport } = await start()
    const execution = await call(await open(transport()))
    expect(execution.kind).toBe('task')
    up.setState('1', { status: 'done', output: 'the film' })
    expect((await execution.settle()).outcome).toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'the film' }] },
    })
  })

  it('cancels a task', async () => {
    const { up, transport } = await start()
    const older = await open(transport())
    const execution = await call(older)
    await execution.cancel()
    expect((await execution.settle()).outcome.status).toBe('cancelled')
    await up.waitFor((upstream) => upstream.count('POST', '/jobs/1/cancel') === 1)
  })

  it('recovers a task in a new session', async () => {
    const { up, transport } = await start()
    const first = await open(transport())
    const execution = await call(first)
    if (execution.kind !== 'task') throw new Error('no task')
    const reference = execution.serializeReference()
    await execution.detach()
    if (kind === 'stdio') await first.client.close()
    const second = await open(transport())
    up.setState('1', { status: 'done', output: 'again' })
    const resumed = await second.tasks.resumeTask(reference)
    expect((await resumed.settle()).outcome).toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'again' }] },
    })
  })

  it('lists its tasks', async () => {
    const { transport } = await start()
    const older = await open(transport())
    const execution = await call(older)
    const { tasks } = await older.tasks.listTasks()
    expect(tasks.map(({ taskId }) => taskId)).toEqual([execution.handle?.taskId])
  })

  it('waits for the plain result when it asks for no task', async () => {
    const { up, transport } = await start()
    const { client } = await open(transport())
    const calling = client.callTool({ name: 'render', arguments: { scene: 'sea' } })
    await up.waitFor((upstream) => upstream.jobs.size === 1)
    up.setState('1', { status: 'done', output: 'plain' })
    expect((await calling).content).toEqual([{ type: 'text', text: 'plain' }])
  })
})

describe('the official 2025 client over stdio', () => {
  const stdio = kinds[1]?.[1] as (typeof kinds)[number][1]

  it('is asked a question while it polls, and its answer goes upstream', async () => {
    const { up, transport } = await stdio()
    const asked: string[] = []
    const execution = await call(await open(transport(), asked))
    up.setState('1', {
      status: 'waiting',
      questions: [{ key: 'go', text: 'Deploy?', form: { why: { type: 'string' } } }],
    })
    await up.waitFor((upstream) => upstream.count('POST', '/jobs/1/answer') === 1)
    up.setState('1', { status: 'done', questions: [], output: 'deployed' })
    expect((await execution.settle()).outcome.status).toBe('completed')
    expect(asked).toEqual(['Deploy?'])
    expect(up.requests.find(({ path }) => path === '/jobs/1/answer')?.body).toMatchObject({
      answer: { why: 'because' },
    })
  })

  it('is notified of each change', async () => {
    const { up, transport } = await stdio()
    const older = await open(transport())
    const execution = await call(older)
    up.setState('1', { message: 'stage 2' })
    const states = () =>
      older.notifications
        .filter(({ method }) => method === 'notifications/tasks/status')
        .map(({ params }) => params?.statusMessage)
    await expect.poll(states, { timeout: 5_000 }).toContain('stage 2')
    up.setState('1', { status: 'done', output: 'x' })
    await execution.settle()
    const last = older.notifications.at(-1)?.params
    expect(last).toMatchObject({ taskId: execution.handle?.taskId })
  })
})

describe('both generations of client on one endpoint', () => {
  it('complete, interleaved', async () => {
    const up = await upstream()
    const w = await world({ up, policy: quick, clock: realTime })
    const older = await open(new StreamableHTTPClientTransport(new URL(w.url)))
    const newer = await openTaskSession({
      transport: new StreamableHTTPClientTransport(new URL(w.url)),
      endpointId: 'newer',
    })
    closing(() => newer.close())
    const executions = await Promise.all([
      call(older),
      newer.tasks.callTool('render', { scene: 'a' }, { task: { preference: 'prefer' } }),
      call(older),
      newer.tasks.callTool('render', { scene: 'b' }, { task: { preference: 'prefer' } }),
    ])
    for (const id of up.jobs.keys()) up.setState(id, { status: 'done', output: 'x' })
    for (const execution of executions) expect((await execution.settle()).outcome.status).toBe('completed')
  })
})
