import { type ChildProcess, spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allGone, processesWith, program, root } from './support.js'

/* The demo's job server by itself: it must behave as real ones do, for the examples to mean anything. */

const MARK = `job-server-test-${process.pid}-${Date.now()}`
let server: ChildProcess
let url = ''
beforeAll(async () => {
  server = spawn(process.execPath, program('job-server.ts'), {
    cwd: root,
    env: { ...process.env, PORT: '0', STAGE_MS: '150', JOBS_TOKEN: 'token', DEMO_MARK: MARK },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  url = await new Promise((resolve) => {
    server.stdout?.on('data', (chunk) => {
      const found = /ready (\S+)/.exec(String(chunk))?.[1]
      if (found) resolve(found)
    })
  })
})
afterAll(async () => {
  server.kill('SIGTERM')
  await allGone(MARK)
})

interface Body {
  id: string
  status: string
  percent: number
  question?: string
  report?: object
  error?: string
  log: string[]
}

async function send(method: string, path: string, body?: unknown, authorization = 'Bearer token') {
  const response = await fetch(url + path, {
    method,
    headers: { authorization },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Body }
}

async function until(id: string, ...statuses: string[]): Promise<Body> {
  for (;;) {
    const { body } = await send('GET', `/jobs/${id}`)
    if (statuses.includes(body.status) && body.percent > 0) return body
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const start = async () => (await send('POST', '/jobs', { folder: 'src/errors' })).body.id

describe("the demo's job server", () => {
  it('runs a job through its question to its report', async () => {
    const id = await start()
    const waiting = await until(id, 'waiting', 'failed')
    expect(waiting).toMatchObject({ question: expect.stringMatching(/^Counted \d+ lines/), percent: 50 })
    expect((await send('POST', `/jobs/${id}/approve`)).status).toBe(200)
    expect((await send('POST', `/jobs/${id}/approve`)).status).toBe(409)
    const done = await until(id, 'done', 'failed')
    expect(done).toMatchObject({ percent: 100, report: { files: expect.any(Number) } })
    expect(done.question).toBeUndefined()
    expect(done.log.length).toBeGreaterThan(0)
    expect((await send('POST', `/jobs/${id}/cancel`)).status).toBe(409)
  })

  it('ends a rejected job as failed, and says why', async () => {
    const id = await start()
    await until(id, 'waiting')
    await send('POST', `/jobs/${id}/reject`)
    expect(await until(id, 'done', 'failed')).toMatchObject({ status: 'failed', error: 'A person rejected it.' })
  })

  it.each(['running', 'waiting'])('cancels a job that is %s: its script is told to stop, and does', async (status) => {
    const id = await start()
    await until(id, status)
    expect((await send('POST', `/jobs/${id}/cancel`)).status).toBe(202)
    const { log } = await until(id, 'cancelled', 'done', 'failed')
    expect(log.at(-1)).toBe('asked to stop, stopping')
  })

  it.each(['..', '/etc', '../../etc', 'no-such-folder', 'package.json', undefined, 7, null])(
    'does not read %j, which is no folder of this repository',
    async (folder) => {
      const { status } = await send('POST', '/jobs', { folder })
      expect(status).toBe(422)
    },
  )

  it('asks for its token, and knows no other jobs and paths', async () => {
    expect((await send('GET', '/jobs', undefined, 'Bearer wrong')).status).toBe(401)
    expect((await send('GET', '/jobs/999')).status).toBe(404)
    expect((await send('GET', '/elsewhere')).status).toBe(404)
    expect((await send('POST', '/jobs', 'no object')).status).toBe(422)
  })

  it('ends its jobs with itself', async () => {
    await start()
    expect(processesWith(MARK).length).toBeGreaterThan(1)
    server.kill('SIGTERM')
    await allGone(MARK)
  })
})
