import type { Expression, HttpJobDefinition } from 'mcp-job-tools/adapters/http'
import { describe, expect, it } from 'vitest'
import { adapter, type Reply, upstream } from './http-world.js'

/* What a look makes of answers, over real HTTP. */

describe('a look', () => {
  const job = { id: 1 }
  it('reads more where told so, each in turn', async () => {
    const up = await upstream({
      'GET /jobs/1': { body: { status: 'running', total: 4 } },
      'GET /jobs/1/steps': { body: [{ done: true }, { done: true }, {}] },
    })
    const also = { steps: { path: '/jobs/{ref.id}/steps' }, never: { path: '/never', when: '$count($steps) > 10' } }
    const a = adapter({
      baseUrl: up.url,
      also,
      progress: '{ "done": $count($steps[done]), "total": total }',
      message: '$string($count($steps)) & " steps"',
    })
    expect(await a.look(job)).toEqual({ phase: 'working', message: '3 steps', progress: { done: 2, total: 4 } })
  })

  const readings: [string, Partial<HttpJobDefinition>, Reply, object][] = [
    [
      'joins several statuses',
      { status: ['status', 'conclusion'], states: { 'completed/success': 'succeeded', '*/*': 'working' } },
      { body: { status: 'completed', conclusion: 'success' } },
      { phase: 'succeeded' },
    ],
    ['calls an unlisted word unknown', {}, { body: { status: 'TIMEOUT' } }, { phase: 'unknown', message: 'TIMEOUT' }],
    [
      'takes the word for the message where there is none',
      {},
      { body: { status: 'running' } },
      { phase: 'working', message: 'running' },
    ],
    [
      'reads a status from the HTTP status',
      { status: '$status', states: { '202': 'working', '200': 'succeeded' } },
      { status: 202, body: {} },
      { phase: 'working' },
    ],
    [
      'takes an accepted 409 for a state',
      { get: { path: '/jobs/{ref.id}', accept: [409] }, status: 'code' },
      { status: 409, body: { code: 'done' } },
      { phase: 'succeeded' },
    ],
    ['takes 404 for gone', {}, { status: 404 }, { phase: 'gone' }],
    ['takes 410 for gone', {}, { status: 410, body: 'bye' }, { phase: 'gone' }],
    [
      'takes an accepted 404 for a state',
      { get: { path: '/jobs/{ref.id}', accept: [404] }, status: 'code', states: { none: 'cancelled' } },
      { status: 404, body: { code: 'none' } },
      { phase: 'cancelled' },
    ],
    [
      'takes an error in a 200 for gone where told so',
      { gone: { status: 200, body: 'no such job' } },
      { body: { error: 'no such job' } },
      { phase: 'gone' },
    ],
    [
      'reads url and progress',
      { url: 'web', progress: 'percent' },
      { body: { status: 'running', web: 'https://x.example/1', percent: 40 } },
      { url: 'https://x.example/1', progress: { done: 40 } },
    ],
    [
      'gives the error of a failed job',
      { error: 'reason.text' },
      { body: { status: 'error', reason: { text: 'boom' } } },
      { phase: 'failed', message: 'boom' },
    ],
    [
      'is not spoilt by decoration that fails',
      { message: '$error("x")', progress: '$error("x")', url: '$error("x")' },
      { body: { status: 'running' } },
      { phase: 'working', message: 'running' },
    ],
  ]
  it.each(readings)('%s', async (_, over, reply, reading) => {
    const up = await upstream({ 'GET /jobs/1': reply })
    expect(await adapter({ baseUrl: up.url, ...over }).look(job)).toMatchObject(reading)
  })

  it('knows a job that is gone by 500 and a text, and no other 500', async () => {
    let body: unknown = { error: 'job not found' }
    const up = await upstream({ 'POST /job/status': () => ({ status: 500, body }) })
    const a = adapter({
      baseUrl: up.url,
      get: { method: 'POST', path: '/job/status', body: { jobid: '{ref.id}' } },
      gone: { status: 500, body: 'job not found' },
    })
    expect(await a.look(job)).toEqual({ phase: 'gone' })
    expect(up.seen[0]?.body).toEqual({ jobid: 1 })
    body = { error: 'database is down' }
    await expect(a.look(job)).rejects.toMatchObject({ status: 500, transient: true })
  })

  it('is a fault when the status cannot be read', async () => {
    const up = await upstream({ 'GET /jobs/1': { body: {} } })
    await expect(adapter({ baseUrl: up.url, status: '$error("x")' }).look(job)).rejects.toThrow(/failed/)
  })
})

describe('what a look says', () => {
  const ref = { id: 1 }
  const progress: [unknown, object | undefined][] = [
    [40, { done: 40 }],
    [0, { done: 0 }],
    [0.5, { done: 0.5 }],
    ['40', { done: 40 }],
    ['40%', { done: 40 }],
    ['40.5 %', { done: 40.5 }],
    [
      { done: 3, total: 8 },
      { done: 3, total: 8 },
    ],
    [
      { done: '3', total: '8' },
      { done: 3, total: 8 },
    ],
    [{ done: 3 }, { done: 3 }],
    [{ done: 3, total: null }, { done: 3 }],
    [{ total: 8 }, undefined],
    ['soon', undefined],
    ['4e9', undefined],
    ['', undefined],
    [null, undefined],
    [true, undefined],
    [[40], undefined],
  ]
  it.each(progress)('of progress: %j is %j', async (given, reached) => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'running', progress: given } } })
    expect((await adapter({ baseUrl: up.url, progress: 'progress' }).look(ref)).progress).toEqual(reached)
  })

  const messages: [unknown, string][] = [
    ['text', 'text'],
    [7, '7'],
    [0, '0'],
    [false, 'false'],
    [{ a: [1] }, '{"a":[1]}'],
    ['', 'running'],
    [null, 'running'],
  ]
  it.each(messages)('as a message: %j is %j', async (given, message) => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'running', note: given } } })
    expect((await adapter({ baseUrl: up.url, message: 'note' }).look(ref)).message).toBe(message)
  })

  const odd: [string, Expression][] = [
    [
      'throws',
      () => {
        throw new Error('x')
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('x')
      },
    ],
    [
      'gives a value that holds itself',
      () => {
        const value: unknown[] = []
        value.push(value)
        return value
      },
    ],
    ['gives a bigint inside', () => ({ n: 1n })],
    ['gives a function', () => () => 1],
    ['gives a symbol', () => Symbol('x')],
    [
      'gives what cannot be turned into text',
      () => ({
        toJSON: () => {
          throw new Error('x')
        },
      }),
    ],
    ['gives a text that no text is made of', () => Object.create(null)],
    ['fails', '$error("x")'],
    ['runs for ever', '($f := function($n) { $f($n + 1) }; $f(0))'],
    ['is too wide', '$pad("x", 500000000)'],
  ]
  it.each(odd)('is not spoilt by decoration that %s', async (_, expression) => {
    const up = await upstream({ 'GET /jobs/1': ({ headers }) => ({ body: { status: headers['x-status'] } }) })
    const look = (status: string) =>
      adapter({
        baseUrl: up.url,
        headers: { 'x-status': status },
        message: expression,
        progress: expression,
        url: expression,
        error: expression,
      }).look(ref)
    expect((await look('running')).phase).toBe('working')
    expect((await look('error')).phase).toBe('failed')
  })
  it.each(odd.slice(-3))('is a fault where the status %s', async (_, status) => {
    const up = await upstream({ 'GET /jobs/1': { body: {} } })
    await expect(adapter({ baseUrl: up.url, status }).look(ref)).rejects.toThrow(/failed/)
  })

  it('joins statuses of any kind, absent ones as empty texts', async () => {
    const seen: [object, string][] = [
      [{ a: 'done', b: null }, 'done/'],
      [{ b: 3 }, '/3'],
      [{ a: true, b: { x: 1 } }, 'true/{"x":1}'],
      [{ a: '__proto__', b: 'constructor' }, '__proto__/constructor'],
    ]
    for (const [body, message] of seen) {
      const up = await upstream({ 'GET /jobs/1': { body } })
      const job = adapter({ baseUrl: up.url, status: ['a', 'b'], states: { 'x/y': 'succeeded' } })
      expect(await job.look(ref)).toEqual({ phase: 'unknown', message })
    }
  })
  it('goes by the words of its own stage where that has some', async () => {
    const up = await upstream({ 'GET /jobs/1': { body: { code: 'OK', note: 'n' } } })
    const get = {
      path: '/jobs/{ref.id}',
      status: ['code', '$status'],
      states: { 'ok/200': 'succeeded' as const },
      message: '"own " & note',
    }
    expect(await adapter({ baseUrl: up.url, get, caseInsensitive: true, message: 'status' }).look(ref)).toEqual({
      phase: 'succeeded',
      message: 'own n',
    })
  })
  it('may turn on whether the client asked to cancel', async () => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'error' } } })
    const status = '$cancelRequested and status = "error" ? "stopped" : status'
    const over = { baseUrl: up.url, status, states: { error: 'failed' as const, stopped: 'cancelled' as const } }
    expect((await adapter(over).look(ref)).phase).toBe('failed')
    expect((await adapter(over, {}, { cancelRequested: true }).look(ref)).phase).toBe('cancelled')
  })
  it('sees headers, the ref, the input and the key', async () => {
    const up = await upstream({ 'GET /jobs/1': { headers: { 'X-Stage': 'two' }, body: { status: 'running' } } })
    const message = '$headers."x-stage" & " " & $ref.id & " " & $input.scene & " " & $key & " " & $status'
    expect((await adapter({ baseUrl: up.url, message }, { scene: 'sea' }).look(ref)).message).toBe('two 1 sea k-1 200')
  })
  it('may be asked for by POST, with everything that a request can hold', async () => {
    const up = await upstream({ 'POST /rpc?v=2': { body: { result: { status: 'done' } } } })
    const get = {
      method: 'POST',
      path: '/rpc',
      query: { v: 2 },
      headers: { 'x-key': '{key}' },
      body: { method: 'job/status', params: { id: '{ref.id}', scene: '{input.scene}' } },
    }
    const job = adapter({ baseUrl: up.url, get, status: 'result.status' }, { scene: 'sea' })
    expect(await job.look(ref)).toMatchObject({ phase: 'succeeded' })
    expect(up.seen[0]).toMatchObject({
      headers: { 'x-key': 'k-1' },
      body: { method: 'job/status', params: { id: 1, scene: 'sea' } },
    })
  })
  it('may read text: each word of it, or its end', async () => {
    const text = { headers: { 'content-type': 'text/plain' }, body: 'line 1\nRUNNING\n' }
    const up = await upstream({ 'GET /jobs/1': text })
    const get = { path: '/jobs/{ref.id}', headers: { accept: 'text/plain' } }
    const job = adapter({
      baseUrl: up.url,
      get,
      status: '$match($, /[A-Z]{3,}/)[0].match',
      states: { RUNNING: 'working' },
      message: '$tail($, 1)',
    })
    expect(await job.look(ref)).toEqual({ phase: 'working', message: 'RUNNING\n' })
  })
})

describe('further reads', () => {
  const ref = { id: 1 }
  it('may hang on the look and on each other, and be several for one name', async () => {
    const up = await upstream({
      'GET /jobs/1': { body: { status: 'running', kind: 'big' } },
      'GET /big/1': { body: { parts: [1, 2] } },
      'GET /parts': { body: '"two"' },
    })
    const job = adapter({
      baseUrl: up.url,
      also: {
        details: [{ when: 'kind = "small"', path: '/small/{ref.id}' }, { path: '/big/{ref.id}' }],
        parts: { when: '$count($details.parts) = 2', path: '/parts' },
        none: { when: 'kind = "none"', path: '/none' },
      },
      message: '$parts & " " & $string($exists($none))',
    })
    expect((await job.look(ref)).message).toBe('two false')
    expect(up.paths()).toEqual(['GET /jobs/1', 'GET /big/1', 'GET /parts'])
  })
  it('may be faults: the look is not half a look', async () => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'done' } }, 'GET /steps': { status: 503 } })
    await expect(adapter({ baseUrl: up.url, also: { steps: { path: '/steps' } } }).look(ref)).rejects.toMatchObject({
      status: 503,
    })
    const accepting = adapter({ baseUrl: up.url, also: { steps: { path: '/steps', accept: [503] } } })
    expect((await accepting.look(ref)).phase).toBe('succeeded')
  })
  it('never take the place of what expressions see anyway', async () => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'running' } }, 'GET /x': { body: '"x"' } })
    const job = adapter({ baseUrl: up.url, also: { stats: { path: '/x' } }, message: '$stats & $ref.id & $key' })
    expect((await job.look(ref)).message).toBe('x1k-1')
  })
})
