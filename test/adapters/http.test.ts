import type { Answer } from 'mcp-job-tools'
import { UpstreamError } from 'mcp-job-tools'
import type { HttpJobDefinition, HttpRef } from 'mcp-job-tools/adapters/http'
import { describe, expect, it } from 'vitest'
import { adapter, type Reply, upstream } from './http-world.js'

/* httpJob alone, over real HTTP: what each operation sends, and what it makes of the answers. */

describe('create', () => {
  const ids: [string, Reply, HttpJobDefinition['create'], HttpRef][] = [
    ['the body', { status: 201, body: { id: 'a1' } }, { method: 'POST', path: '/jobs', id: 'id' }, { id: 'a1' }],
    [
      'deep in the body',
      { body: { data: [{ run: { no: 7 } }] } },
      { method: 'POST', path: '/jobs', id: 'data[0].run.no' },
      { id: 7 },
    ],
    [
      'a number beyond 2^53',
      { body: '{"id":12345678901234567890}' },
      { method: 'POST', path: '/jobs', id: 'id' },
      { id: '12345678901234567890' },
    ],
    [
      'a header',
      { status: 202, headers: { 'x-operation-id': 'op-1' } },
      { method: 'POST', path: '/jobs', id: { header: 'X-Operation-Id' } },
      { id: 'op-1' },
    ],
    [
      'a Location',
      { status: 202, headers: { location: 'https://proxy.example/v1/jobs/77?x=1' } },
      { method: 'POST', path: '/jobs', id: { header: 'location', match: '/jobs/([^/?]+)' } },
      { id: '77' },
    ],
    [
      'a redirect that is accepted',
      { status: 303, headers: { location: '/queue/item/8/' } },
      { method: 'POST', path: '/jobs', accept: [303], id: { header: 'location', match: 'item/(\\d+)' } },
      { id: '8' },
    ],
    [
      'several places',
      { body: { id: 1, attempt: 2 } },
      { method: 'POST', path: '/jobs', id: 'id', ref: { attempt: 'attempt' } },
      { id: 1, attempt: 2 },
    ],
    [
      'a function',
      { body: { id: 1 } },
      { method: 'POST', path: '/jobs', id: (body) => `x${(body as { id: number }).id}` },
      { id: 'x1' },
    ],
  ]
  it.each(ids)('finds the id in %s', async (_, reply, create, ref) => {
    const up = await upstream({ 'POST /jobs': reply })
    expect(
      await adapter({
        baseUrl: up.url,
        create,
        ...(typeof create === 'object' && !Array.isArray(create) && create.ref ? {} : {}),
      }).create(),
    ).toEqual(ref)
  })

  it('keeps a Location as a place, re-based onto the configured origin', async () => {
    const up = await upstream({
      'POST /v1/jobs': {
        status: 202,
        headers: { location: 'https://behind-a-proxy.example/v1/operations/abc?page=1' },
      },
      'GET /v1/operations/abc?page=1': { body: { status: 'done' } },
    })
    const job = adapter({
      baseUrl: `${up.url}/v1`,
      create: { method: 'POST', path: '/jobs', id: { header: 'location' } },
      get: { path: '{ref.id}' },
    })
    const ref = await job.create()
    expect(ref.id).toBe(`${up.url}/v1/operations/abc?page=1`)
    expect((await job.look(ref)).phase).toBe('succeeded')
  })

  it('sends body, query, headers and forms as described, with types kept and absent values dropped', async () => {
    const up = await upstream({ 'POST /jobs?tag=a&tag=b': { body: { id: 1 } }, 'POST /form': { body: { id: 2 } } })
    const input = { n: 7, list: ['a', 'b'], deep: { x: null } }
    const create = {
      method: 'POST',
      path: '/jobs',
      query: { tag: '{input.list}', gone: '{input.gone}' },
      headers: { 'idempotency-key': '{key}' },
      body: { n: '{input.n}', text: 'n is {input.n}', all: '{input}', gone: '{input.gone}', ask: '{ask.budget.euros}' },
      id: 'id',
    }
    await adapter({ baseUrl: up.url, create }, input).create()
    expect(up.seen[0]).toMatchObject({
      headers: { 'idempotency-key': 'k-1' },
      body: { n: 7, text: 'n is 7', all: input, ask: 5 },
    })
    expect(up.seen[0]?.body).not.toHaveProperty('gone')
    await adapter(
      {
        baseUrl: up.url,
        create: { method: 'POST', path: '/form', form: { a: '{input.n}', gone: '{input.gone}' }, id: 'id' },
      },
      input,
    ).create()
    expect(up.seen[1]).toMatchObject({
      body: 'a=7',
      headers: { 'content-type': expect.stringContaining('x-www-form-urlencoded') },
    })
  })

  it('runs its preparation first, in order, and is certain that a failed one made no job', async () => {
    const up = await upstream({
      'POST /uploads': { body: { id: 'u1' } },
      'POST /threads/u1': { body: { id: 't1' } },
      'POST /jobs/u1/t1': { body: { id: 9 } },
      'POST /broken': { status: 500 },
    })
    const prepare = [
      { method: 'POST', path: '/uploads', ref: { upload: 'id' } },
      { method: 'POST', path: '/threads/{ref.upload}', ref: { thread: 'id' } },
    ]
    const create = { method: 'POST', path: '/jobs/{ref.upload}/{ref.thread}', id: 'id' }
    expect(await adapter({ baseUrl: up.url, prepare, create }).create()).toEqual({ upload: 'u1', thread: 't1', id: 9 })
    const broken = adapter({ baseUrl: up.url, prepare: [{ method: 'POST', path: '/broken' }] })
    await expect(broken.create()).rejects.toMatchObject({ status: 500, noEffect: true })
    expect(up.paths().at(-1)).toBe('POST /broken')
  })

  it('looks for a job whose create answers no id until it is listed', async () => {
    let listed = 0
    const up = await upstream({
      'POST /jobs': { status: 204 },
      'GET /jobs?key=k-1': () => ({ body: { jobs: ++listed > 1 ? [{ id: 5 }] : [] } }),
    })
    const locate = { path: '/jobs', query: { key: '{key}' }, id: 'jobs[0].id' }
    const job = adapter({ baseUrl: up.url, create: { method: 'POST', path: '/jobs' }, locate })
    expect(await job.create()).toEqual({ id: 5 })
    expect(up.paths().filter((path) => path.startsWith('POST'))).toHaveLength(1)
  })

  it('does not know the outcome when the answer holds no id', async () => {
    const up = await upstream({ 'POST /jobs': { body: { name: 'x' } } })
    const failed = adapter({ baseUrl: up.url }).create()
    await expect(failed).rejects.toBeInstanceOf(UpstreamError)
    await expect(failed).rejects.toMatchObject({ noEffect: false, message: expect.stringContaining('no id') })
  })

  it('picks the request whose `when` holds', async () => {
    const up = await upstream({ 'POST /big': { body: { id: 'big' } }, 'POST /small': { body: { id: 'small' } } })
    const create = [
      { method: 'POST', path: '/big', when: '$input.size > 10', id: 'id' },
      { method: 'POST', path: '/small', id: 'id' },
    ]
    expect(await adapter({ baseUrl: up.url, create }, { size: 11 }).create()).toEqual({ id: 'big' })
    expect(await adapter({ baseUrl: up.url, create }, { size: 1 }).create()).toEqual({ id: 'small' })
  })
})

describe('a look', () => {
  const job = { id: 1 }
  it('follows the stages as the ref grows, and stays with the last one', async () => {
    let queue: Reply = { body: { why: 'waiting for a worker' } }
    const up = await upstream({
      'GET /queue/item/7': () => queue,
      'GET /job/app/42': { body: { status: 'running', stage: 'compile' } },
    })
    const get = [
      {
        when: '$not($exists($ref.build))',
        path: '/queue/item/{ref.queue}',
        ref: { build: 'executable.number' },
        message: 'why',
        states: { '*': 'working' as const },
      },
      { path: '/job/app/{ref.build}' },
    ]
    const a = adapter({
      baseUrl: up.url,
      create: { method: 'POST', path: '/x', ref: { queue: 'q' } },
      get,
      message: 'stage',
    })
    expect(await a.look({ queue: 7 })).toEqual({ phase: 'working', message: 'waiting for a worker' })
    queue = { body: { executable: { number: 42 } } }
    expect(await a.look({ queue: 7 })).toEqual({ phase: 'working', message: 'compile', ref: { queue: 7, build: 42 } })
    // The queue item is forgotten after a while: it is not asked for any more.
    queue = { status: 404 }
    expect(await a.look({ queue: 7, build: 42 })).toMatchObject({ message: 'compile' })
    expect(await a.look({ queue: 7 })).toEqual({ phase: 'gone' })
  })

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

  it('sends the headers of the definition to its own origin only', async () => {
    const [one, two] = [
      await upstream({ 'POST /jobs': { body: { id: 1 } } }),
      await upstream({ 'GET /admin/1': { body: { status: 'done' } } }),
    ]
    const a = adapter({
      baseUrl: one.url,
      headers: { authorization: 'Bearer for-one' },
      get: { path: '/admin/{ref.id}', baseUrl: two.url, headers: { 'x-admin': 'yes' } },
    })
    await a.create()
    expect((await a.look(job)).phase).toBe('succeeded')
    expect(one.seen[0]?.headers.authorization).toBe('Bearer for-one')
    expect(two.seen[0]?.headers).toMatchObject({ 'x-admin': 'yes' })
    expect(two.seen[0]?.headers.authorization).toBeUndefined()
  })

  it('takes headers from the environment, and names a variable that is missing', async () => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'done' } } })
    process.env.HTTP_JOB_TEST_TOKEN = 'tok-1234567'
    const a = adapter({ baseUrl: up.url, headers: { authorization: 'Bearer {env.HTTP_JOB_TEST_TOKEN}' } })
    await a.look(job)
    expect(up.seen[0]?.headers.authorization).toBe('Bearer tok-1234567')
    delete process.env.HTTP_JOB_TEST_TOKEN
    await expect(a.look(job)).rejects.toThrow(/environment variable HTTP_JOB_TEST_TOKEN: is not set/)
  })

  it.each(['a\r\nx-evil: 1', 'a\nb', 'a\u0000'])('refuses %j as the value of a header', async (value) => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'done' } } })
    await expect(
      adapter({ baseUrl: up.url, headers: { 'x-scene': '{input.scene}' } }, { scene: value }).look(job),
    ).rejects.toThrow(/header x-scene/)
    expect(up.seen).toHaveLength(0)
  })
})

describe('questions', () => {
  const questions = {
    list: 'approvals',
    key: 'env.id',
    message: '"Deploy to " & env.name & "?"',
    form: { comment: { type: 'string' as const } },
    accept: {
      method: 'POST',
      path: '/jobs/{ref.id}/approve',
      body: { env: '{question.key}', text: '{answer.comment}', q: '{question.message}' },
      ref: { attempt: 'attempt' },
    },
  }
  const waiting = {
    body: { status: 'waiting', approvals: [{ env: { id: 1, name: 'prod' } }, { env: { id: 2, name: 'stage' } }] },
  }
  const ref = { id: 1 }
  const asked = { key: '1', message: 'Deploy to prod?' }

  it('are listed, one or many, with their form', async () => {
    const up = await upstream({ 'GET /jobs/1': waiting })
    expect(await adapter({ baseUrl: up.url, questions }).look(ref)).toEqual({
      phase: 'input_required',
      message: 'waiting',
      questions: [
        { key: '1', message: 'Deploy to prod?', form: { comment: { type: 'string' } } },
        { key: '2', message: 'Deploy to stage?', form: { comment: { type: 'string' } } },
      ],
    })
  })
  it('may have a form that each item brings, and make a running job wait', async () => {
    const up = await upstream({
      'GET /jobs/1': { body: { status: 'running', input: { id: 'a', text: 't', fields: { x: { type: 'boolean' } } } } },
    })
    const own = { ...questions, list: 'input', key: 'id', message: 'text', form: 'fields' }
    expect(await adapter({ baseUrl: up.url, questions: own }).look(ref)).toMatchObject({
      phase: 'input_required',
      questions: [{ key: 'a', message: 't', form: { x: { type: 'boolean' } } }],
    })
  })
  it('are answered with what the person said, and may move to a new job', async () => {
    const up = await upstream({ 'POST /jobs/1/approve': { body: { attempt: 2 } } })
    const a = adapter({ baseUrl: up.url, questions })
    expect(await a.answer(ref, asked, { action: 'accept', content: { comment: 'ok' } })).toEqual({ id: 1, attempt: 2 })
    expect(up.seen[0]?.body).toEqual({ env: '1', text: 'ok', q: 'Deploy to prod?' })
  })
  it('are declined where the upstream can, and say so where it cannot', async () => {
    const up = await upstream({ 'POST /jobs/1/reject': { body: {} } })
    const no: Answer = { action: 'decline', content: {} }
    const declining = adapter({
      baseUrl: up.url,
      questions: { ...questions, decline: { method: 'POST', path: '/jobs/{ref.id}/reject' } },
    })
    expect(await declining.answer(ref, asked, no)).toBeUndefined()
    expect(up.paths()).toEqual(['POST /jobs/1/reject'])
    await expect(adapter({ baseUrl: up.url, questions }).answer(ref, asked, no)).rejects.toThrow(/no way to decline/)
  })
  it('without a key are a fault: a gate that cannot be read is no open road', async () => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'waiting', approvals: [{}] } } })
    await expect(adapter({ baseUrl: up.url, questions }).look(ref)).rejects.toThrow(/has no key/)
  })
})

describe('the result', () => {
  const done = { body: { status: 'done', output: { n: 1 }, text: '{"inner":true}', log: 'a\nb\nc' } }
  const results: [string, HttpJobDefinition['result'], object][] = [
    ['an object', 'output', { structured: { n: 1 } }],
    ['text', '"the end"', { text: 'the end' }],
    ['a number', 'output.n', { text: '1', structured: 1 }],
    ['nothing', 'missing', { text: 'The job succeeded and gave no output.' }],
    ['JSON inside JSON', '$json(text)', { structured: { inner: true } }],
    ['the tail of a log', '$tail(log, 1)', { text: 'c' }],
    ['another request', { path: '/jobs/{ref.id}/result', value: 'value' }, { structured: { from: 'elsewhere' } }],
    [
      'the first of several requests that fits',
      [{ path: '/never', when: 'output.n = 2' }, { path: '/jobs/{ref.id}/result' }],
      { structured: { value: { from: 'elsewhere' } } },
    ],
    ['no description at all', undefined, { text: 'done' }],
  ]
  it.each(results)('may be %s', async (_, result, given) => {
    const up = await upstream({ 'GET /jobs/1': done, 'GET /jobs/1/result': { body: { value: { from: 'elsewhere' } } } })
    expect(await adapter({ baseUrl: up.url, ...(result === undefined ? {} : { result }) }).result({ id: 1 })).toEqual(
      given,
    )
  })
  it('of a failed job is what went wrong', async () => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'error', reason: 'boom' } } })
    expect(await adapter({ baseUrl: up.url, error: 'reason' }).result({ id: 1 })).toEqual({
      text: 'The job failed: boom',
      isError: true,
    })
  })
})

describe('cancel', () => {
  it('picks queue or build', async () => {
    const up = await upstream({ 'POST /queue/7/cancel': { status: 204 }, 'POST /build/42/stop': { status: 204 } })
    const cancel = [
      { method: 'POST', path: '/build/{ref.build}/stop', when: '$exists($ref.build)' },
      { method: 'POST', path: '/queue/{ref.queue}/cancel' },
    ]
    const a = adapter({
      baseUrl: up.url,
      create: { method: 'POST', path: '/x', ref: { queue: 'q', build: 'b' } },
      get: { path: '/queue/{ref.queue}' },
      cancel,
    })
    await a.cancel({ queue: 7 })
    await a.cancel({ queue: 7, build: 42 })
    expect(up.paths()).toEqual(['POST /queue/7/cancel', 'POST /build/42/stop'])
  })
  it('is refused as the upstream says, unless the status is accepted', async () => {
    const up = await upstream({ 'DELETE /jobs/1': { status: 409, body: { message: 'over' } } })
    await expect(
      adapter({ baseUrl: up.url, cancel: { method: 'DELETE', path: '/jobs/{ref.id}' } }).cancel({ id: 1 }),
    ).rejects.toMatchObject({ status: 409 })
    await adapter({ baseUrl: up.url, cancel: { method: 'DELETE', path: '/jobs/{ref.id}', accept: [409] } }).cancel({
      id: 1,
    })
  })
})

describe('locate', () => {
  it('finds the job, or cannot tell', async () => {
    let jobs: unknown[] = []
    const up = await upstream({ 'GET /jobs?key=k-1': () => ({ body: { jobs } }) })
    const a = adapter({ baseUrl: up.url, locate: { path: '/jobs', query: { key: '{key}' }, id: 'jobs[0].id' } })
    expect(await a.locate()).toBeUndefined()
    jobs = [{ id: 3 }]
    expect(await a.locate()).toEqual({ id: 3 })
  })
})
