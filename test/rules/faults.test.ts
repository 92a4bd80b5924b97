import type { ScriptedAnswer } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { world } from '../support/world.js'

const HOUR = 3_600_000

describe('a transient fault of the upstream', () => {
  const faults: [string, ScriptedAnswer][] = [
    ...[408, 425, 429, 500, 502, 503, 504, 599].map((status): [string, ScriptedAnswer] => [
      `status ${status}`,
      { status, body: { message: 'later' } },
    ]),
    ['a reset connection', { cut: 'before' }],
    ['a body that is cut', { cut: 'body', body: { id: '1', status: 'running' } }],
    [
      'HTML where JSON was due',
      { body: '<!doctype html><title>Sign in</title>', headers: { 'content-type': 'text/html' } },
    ],
    ['broken JSON', { body: '{"status": "run', headers: { 'content-type': 'application/json' } }],
    ['401 with credentials that cannot be renewed', { status: 401 }],
    ['403', { status: 403 }],
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/login' } }],
  ]
  it.each(faults)('%s keeps the task working, says why, and is over when the upstream is back', async (_, answer) => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.get.push(answer)
    const { result } = await w.get(taskId)
    expect(result.status).toBe('working')
    expect(result.statusMessage).toContain('cannot be read at the moment')
    expect(result.statusMessage).toContain('job 1')
    expect(w.eventsOf('upstream_fault')).toHaveLength(1)
    w.up.script.get.length = 0
    w.up.setState('1', { status: 'done', output: 'all is well' })
    w.clock.now += result.pollIntervalMs
    expect((await w.get(taskId)).result.status).toBe('completed')
    expect(w.up.count('POST', '/jobs')).toBe(1)
  })

  it('slows the pace down, and is forgotten after one good look', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.get.push({ status: 503 })
    const intervals: number[] = []
    for (let look = 0; look < 7; look++) {
      const { result } = await w.get(taskId)
      intervals.push(result.pollIntervalMs)
      w.clock.now += result.pollIntervalMs
    }
    expect([...intervals].sort((one, other) => one - other)).toEqual(intervals)
    expect(intervals.at(-1)).toBeGreaterThan(100_000)
    w.up.script.get.length = 0
    expect((await w.get(taskId)).result.pollIntervalMs).toBeLessThan(30_000)
  })

  it('waits as long as the upstream asks', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.get.push({ status: 429, headers: { 'retry-after': '120' } })
    expect((await w.get(taskId)).result.pollIntervalMs).toBe(120_000)
  })

  it('fails the task past unreachableMs, naming job and reason', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.get.push({ status: 503, body: { message: 'maintenance' } })
    const began = w.clock.now
    const { result } = await w.until(taskId, 'failed')
    expect(w.clock.now - began).toBeGreaterThanOrEqual(HOUR)
    expect(result.error).toMatchObject({ code: -32603, data: { reason: 'unreachable', job: { id: '1' } } })
    expect(result.error.message).toMatch(/Job 1 could not be read for .*503.*maintenance/)
  })

  it('asks for new credentials once, and goes on with them', async () => {
    const given: { refused: boolean }[] = []
    const w = await world({
      job: {
        headers: {
          authorization: (call) => {
            given.push(call)
            return call.refused ? 'Bearer fresh-token' : 'Bearer stale-token'
          },
        },
      },
    })
    const taskId = await w.start()
    w.up.script.get.push((request) =>
      request.headers.authorization === 'Bearer fresh-token'
        ? { body: { id: '1', status: 'running', message: 'welcome back' } }
        : { status: 401 },
    )
    const answers = await Promise.all([w.get(taskId), w.get(taskId)])
    for (const { result } of answers) expect(result.statusMessage).toBe('welcome back')
    expect(given.filter(({ refused }) => refused)).toHaveLength(1)
  })
})

describe('a job that the upstream does not know', () => {
  it('is working within the grace after its create, and failed after it', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.get.push({ status: 404 })
    expect((await w.get(taskId)).result).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('not visible yet'),
    })
    w.clock.now += 121_000
    const { result } = await w.get(taskId)
    expect(result).toMatchObject({ status: 'failed', error: { code: -32603, data: { reason: 'gone' } } })
    expect(result.error.message).toMatch(/Job 1 no longer exists/)
  })
  it('may show up late', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.get.push({ status: 404 }, { status: 404 }, { body: { id: '1', status: 'done', output: 'here' } })
    expect((await w.until(taskId, 'completed')).result.result.content[0].text).toBe('here')
  })
})

describe('a state that nobody has mapped', () => {
  const words: [string, unknown][] = [
    ['a new word', 'TIMEOUT'],
    ['another case', 'Running'],
    ['null', null],
    ['a number', 7],
    ['an object', {}],
    ['empty', ''],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['toString', 'toString'],
    ['absent', undefined],
  ]
  it.each(words)(
    '(%s) is working with the word in its message, and failed past unknownStateMs, naming it',
    async (_, status) => {
      const w = await world()
      const taskId = await w.start()
      w.up.script.get.push({ body: { id: '1', status } })
      const { result } = await w.get(taskId)
      expect(result.status).toBe('working')
      expect(result.statusMessage).toMatch(/does not know|gave no state/)
      expect(w.eventsOf('unknown_state')).toHaveLength(1)
      const began = w.clock.now
      const failed = (await w.until(taskId, 'failed')).result
      expect(w.clock.now - began).toBeGreaterThanOrEqual(HOUR)
      expect(failed.error.data.reason).toBe('unknown_state')
      if (typeof status === 'string' && status !== '') expect(failed.error.message).toContain(status)
      expect(({} as Record<string, unknown>).x).toBeUndefined()
    },
  )
  it('is forgotten when a known one follows', async () => {
    const w = await world()
    const taskId = await w.start()
    w.up.script.get.push(
      { body: { status: 'UNKNOWN' } },
      { body: { status: 'running' } },
      { body: { status: 'done', output: 'x' } },
    )
    expect((await w.until(taskId, 'completed')).result.status).toBe('completed')
  })
})
