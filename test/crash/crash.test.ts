import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type FaultyUpstream, faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { rpc } from '../support/rpc.js'
import { closing } from '../support/world.js'

/*
 * kill -9 in real processes on LMDB, at each point where a process holds something half done: no task id that is later unknown, no
 * second job, no answer sent twice, no create left without a word.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Server {
  url: string
  kill(): Promise<void>
}

async function world() {
  const up = await faultyUpstream()
  closing(() => up.close())
  const folder = await mkdtemp(join(tmpdir(), 'mcp-job-tools-'))
  closing(() => rm(folder, { recursive: true, force: true }))
  const start = () => startServer({ UPSTREAM: up.url, STORE: join(folder, 'jobs.lmdb') })
  return { up, start }
}

function startServer(env: Record<string, string>): Promise<Server> {
  const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', join(root, 'test/support/http-server.ts')], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  closing(kill)
  return new Promise((resolve) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const url = /ready (\S+)/.exec(line)?.[1]
      if (url) resolve({ url, kill })
    })
  })
}

const call = (server: Server) => rpc(server.url, 'tools/call', { name: 'render', arguments: { scene: 'a' } })
const get = async (server: Server, taskId: string) => (await rpc(server.url, 'tasks/get', { taskId })).result
const answer = { go: { action: 'accept', content: {} } }

/** Looks until the task is as wanted: after a crash, a lease may have to run out. */
async function until(server: Server, taskId: string, status: string) {
  await expect.poll(async () => (await get(server, taskId))?.status, { timeout: 20_000, interval: 200 }).toBe(status)
  return get(server, taskId)
}

async function waiting(up: FaultyUpstream, server: Server): Promise<string> {
  const { taskId } = (await call(server)).result
  up.setState('1', { status: 'waiting', questions: [{ key: 'go', text: 'Go?' }] })
  await until(server, taskId, 'input_required')
  return taskId
}

describe('kill -9', { timeout: 60_000 }, () => {
  it('while the upstream answers a create: the job is found, and not started twice', async () => {
    const { up, start } = await world()
    const first = await start()
    up.script.create.push({ hang: true, takesEffect: true })
    call(first).catch(() => undefined)
    await up.waitFor((upstream) => upstream.jobs.size === 1)
    await first.kill()
    up.script.create.length = 0
    const second = await start()
    // Its idempotency key leads to the job as soon as the dead process's lease has run out.
    const lookedFor = () => up.requests.some(({ path }) => path.startsWith('/jobs?key='))
    await expect
      .poll(
        async () => {
          await rpc(second.url, 'tools/call', { name: 'sweep', arguments: {} })
          return lookedFor()
        },
        { timeout: 20_000, interval: 500 },
      )
      .toBe(true)
    expect(up.count('POST', '/jobs')).toBe(1)
  })

  it('before the upstream is asked: nothing runs, and the next call starts one job', async () => {
    const { up, start } = await world()
    const first = await start()
    await first.kill()
    const second = await start()
    expect((await call(second)).result.resultType).toBe('task')
    expect(up.count('POST', '/jobs')).toBe(1)
  })

  it('right after the handle was given: the task is there', async () => {
    const { up, start } = await world()
    const first = await start()
    const { taskId } = (await call(first)).result
    await first.kill()
    const second = await start()
    up.setState('1', { status: 'done', output: 'x' })
    expect((await until(second, taskId, 'completed')).result.content[0].text).toBe('x')
    expect(up.count('POST', '/jobs')).toBe(1)
  })

  it('in the middle of a look: the next process looks', async () => {
    const { up, start } = await world()
    const first = await start()
    const { taskId } = (await call(first)).result
    up.script.get.push({ hang: true })
    get(first, taskId).catch(() => undefined)
    await up.waitFor((upstream) => upstream.count('GET', '/jobs/1') === 1)
    await first.kill()
    up.script.get.length = 0
    up.setState('1', { status: 'done', output: 'x' })
    await until(await start(), taskId, 'completed')
  })

  it('while the result is read: it is read again', async () => {
    const { up, start } = await world()
    const first = await start()
    const { taskId } = (await call(first)).result
    up.setState('1', { status: 'done', output: 'the film' })
    up.script.result.push({ hang: true })
    get(first, taskId).catch(() => undefined)
    await up.waitFor((upstream) => upstream.count('GET', '/jobs/1/result') === 1)
    await first.kill()
    up.script.result.length = 0
    expect((await until(await start(), taskId, 'completed')).result.content[0].text).toContain('the film')
  })

  it('right after the end was seen: the outcome is there without the upstream', async () => {
    const { up, start } = await world()
    const first = await start()
    const { taskId } = (await call(first)).result
    up.setState('1', { status: 'done', output: 'kept' })
    await until(first, taskId, 'completed')
    await first.kill()
    up.forget('1')
    expect((await get(await start(), taskId)).result.content[0].text).toContain('kept')
  })

  it('while a cancel is sent: it is sent again, and the job is cancelled', async () => {
    const { up, start } = await world()
    const first = await start()
    const { taskId } = (await call(first)).result
    up.script.cancel.push({ hang: true })
    await rpc(first.url, 'tasks/cancel', { taskId })
    await up.waitFor((upstream) => upstream.count('POST', '/jobs/1/cancel') === 1)
    await first.kill()
    up.script.cancel.length = 0
    await until(await start(), taskId, 'cancelled')
  })

  it('after a cancel was accepted: it is not sent again', async () => {
    const { up, start } = await world()
    const first = await start()
    const { taskId } = (await call(first)).result
    up.script.cancel.push({ status: 202 })
    await rpc(first.url, 'tasks/cancel', { taskId })
    await get(first, taskId)
    await first.kill()
    const second = await start()
    await expect
      .poll(async () => (await get(second, taskId)).statusMessage, { timeout: 20_000 })
      .toContain('Cancel was requested; waiting')
    up.setState('1', { status: 'cancelled' })
    await until(second, taskId, 'cancelled')
    expect(up.count('POST', '/jobs/1/cancel')).toBe(1)
  })

  it('with a question open: the same question, under the same key, can still be answered', async () => {
    const { up, start } = await world()
    const first = await start()
    const taskId = await waiting(up, first)
    const before = JSON.stringify((await get(first, taskId)).inputRequests)
    await first.kill()
    const second = await start()
    await until(second, taskId, 'input_required')
    expect(JSON.stringify((await get(second, taskId)).inputRequests)).toBe(before)
    await rpc(second.url, 'tasks/update', { taskId, inputResponses: answer })
    expect(up.count('POST', '/jobs/1/answer')).toBe(1)
  })

  it('after an answer was sent: it is not sent again', async () => {
    const { up, start } = await world()
    const first = await start()
    const taskId = await waiting(up, first)
    up.script.answer.push({ body: {} })
    await rpc(first.url, 'tasks/update', { taskId, inputResponses: answer })
    await first.kill()
    const second = await start()
    await rpc(second.url, 'tasks/update', { taskId, inputResponses: answer })
    await until(second, taskId, 'working')
    await rpc(second.url, 'tasks/update', { taskId, inputResponses: answer })
    expect(up.count('POST', '/jobs/1/answer')).toBe(1)
  })

  it('while an answer is sent: nobody sends it again behind the person’s back', async () => {
    const { up, start } = await world()
    const first = await start()
    const taskId = await waiting(up, first)
    up.script.answer.push({ hang: true })
    rpc(first.url, 'tasks/update', { taskId, inputResponses: answer }).catch(() => undefined)
    await up.waitFor((upstream) => upstream.count('POST', '/jobs/1/answer') === 1)
    await first.kill()
    const second = await start()
    await rpc(second.url, 'tasks/update', { taskId, inputResponses: answer })
    await until(second, taskId, 'working')
    expect(up.count('POST', '/jobs/1/answer')).toBe(1)
  })
})
