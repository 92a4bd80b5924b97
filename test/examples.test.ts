import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, describe, expect, it } from 'vitest'
import { type Elicitation, openTaskSession, type TaskSession } from '../examples/support/task-session.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const cleanup: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanup.splice(0).reverse()) await clean()
})

const program = (file: string) => ['--import', 'tsx', join(root, 'examples', file)]

/** Runs an example until it says where it listens. */
function start(file: string, env: Record<string, string>): Promise<string> {
  const child: ChildProcess = spawn(process.execPath, program(file), {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  cleanup.push(async () => {
    child.kill('SIGTERM')
    await ended
  })
  return new Promise((resolve, reject) => {
    let errors = ''
    child.stderr?.on('data', (chunk) => {
      errors += chunk
    })
    child.stdout?.on('data', (chunk) => {
      const url = /ready (\S+)/.exec(String(chunk))?.[1]
      if (url) resolve(url)
    })
    void ended.then(() => reject(new Error(`${file} ended: ${errors}`)))
  })
}

async function environment(): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-job-tools-'))
  cleanup.push(() => rm(folder, { recursive: true, force: true }))
  const jobs = await start('demo/job-server.ts', { PORT: '0', STAGE_MS: '200' })
  return { JOBS_URL: jobs, JOBS_TOKEN: 'demo-token', STORE: join(folder, 'jobs.lmdb'), PORT: '0' }
}

async function session(transport: Transport, asked: Elicitation[]): Promise<TaskSession> {
  const onElicitation = async (request: Elicitation) => {
    asked.push(request)
    return { action: 'accept' as const, content: {} }
  }
  const opened = await openTaskSession({ transport, endpointId: 'example', onElicitation })
  cleanup.push(() => opened.close())
  return opened
}

async function survey({ tasks }: TaskSession) {
  const execution = await tasks.callTool('survey_folder', { folder: 'src/errors' }, { task: { preference: 'prefer' } })
  expect(execution.kind).toBe('task')
  return (await execution.settle()).outcome
}

const finished = {
  status: 'completed',
  result: { structuredContent: { files: expect.any(Number), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } },
}

describe('the examples run as written', { timeout: 60_000 }, () => {
  it.each(['express.ts', 'hono.ts', 'existing-server.ts'])('%s', async (file) => {
    const env = await environment()
    const url = await start(file, env)
    const asked: Elicitation[] = []
    const opened = await session(new StreamableHTTPClientTransport(new URL(url)), asked)
    expect(await survey(opened)).toMatchObject(finished)
    expect(asked).toHaveLength(1)
    if (file !== 'existing-server.ts') return
    const greeting = await opened.client.callTool({ name: 'greet', arguments: { name: 'Ann' } })
    expect(greeting.content).toEqual([{ type: 'text', text: 'Hello, Ann!' }])
    const count = await opened.tasks.callTool(
      'count_lines',
      { folder: 'src/errors' },
      { task: { preference: 'prefer' } },
    )
    expect((await count.settle()).outcome).toMatchObject({
      status: 'completed',
      result: { content: [{ text: expect.stringMatching(/^Counted \d+ lines/) }] },
    })
    // What it did not want is not left waiting for somebody.
    const left = async () =>
      (await fetch(`${env.JOBS_URL}/jobs`, { headers: { authorization: 'Bearer demo-token' } })).json()
    await expect.poll(left).toMatchObject({ jobs: [{ status: 'done' }, { status: 'cancelled' }] })
  })

  it.each(['express.ts', 'hono.ts'])('%s refuses a page of another origin', async (file) => {
    const url = await start(file, await environment())
    const response = await fetch(url, {
      method: 'POST',
      headers: { origin: 'https://evil.example', 'content-type': 'application/json' },
      body: '{}',
    })
    expect(response.status).toBe(403)
  })

  it('stdio.ts', async () => {
    const env = { ...(process.env as Record<string, string>), ...(await environment()) }
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: program('stdio.ts'),
      cwd: root,
      env,
      stderr: 'ignore',
    })
    expect(await survey(await session(transport, []))).toMatchObject(finished)
  })
})
