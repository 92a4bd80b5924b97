import { UpstreamError } from 'mcp-job-tools'
import type { HttpJobDefinition, HttpRef } from 'mcp-job-tools/adapters/http'
import { describe, expect, it } from 'vitest'
import { adapter, type Reply, type Routes, upstream } from './http-world.js'

/* How a job is made, and how its id finds it again: over real HTTP, up to the path of the next request. */

type Create = Exclude<HttpJobDefinition['create'], unknown[]>
const post = (rest: Partial<Create>): Create => ({ method: 'POST', path: '/jobs', ...rest })

describe('an id', () => {
  const rows: [string, Reply, Partial<Create>, HttpRef, string][] = [
    ['in a 201', { status: 201, body: { id: 'a1' } }, { id: 'id' }, { id: 'a1' }, '/jobs/a1'],
    ['in a 202', { status: 202, body: { id: 'a1' } }, { id: 'id' }, { id: 'a1' }, '/jobs/a1'],
    [
      'in the Location of a 201 without a body',
      { status: 201, headers: { location: '/api/jobs/7' } },
      { id: { header: 'Location', match: 'jobs/([^/?]+)' } },
      { id: '7' },
      '/jobs/7',
    ],
    [
      'in the Location of a 204',
      { status: 204, headers: { location: '/api/jobs/7?x=1' } },
      { id: { header: 'location', match: 'jobs/([^/?]+)' } },
      { id: '7' },
      '/jobs/7',
    ],
    [
      'in the Location of a 303',
      { status: 303, headers: { location: 'http://inner.example/queue/item/8/' } },
      { accept: [303], id: { header: 'location', match: 'item/(\\d+)' } },
      { id: '8' },
      '/jobs/8',
    ],
    [
      'in an accepted 409, which names the job that runs already',
      { status: 409, body: { running: 'a0' } },
      { accept: [409], id: 'running' },
      { id: 'a0' },
      '/jobs/a0',
    ],
    ['that is a number', { body: { id: 42 } }, { id: 'id' }, { id: 42 }, '/jobs/42'],
    ['that is zero', { body: { id: 0 } }, { id: 'id' }, { id: 0 }, '/jobs/0'],
    [
      'beyond 2^53',
      { body: '{"id":12345678901234567890}' },
      { id: 'id' },
      { id: '12345678901234567890' },
      '/jobs/12345678901234567890',
    ],
    [
      'beyond 2^53, deep inside and in JSON inside JSON',
      { body: '{"data":"{\\"runs\\":[{\\"id\\":9007199254740993}]}"}' },
      { id: '$json(data).runs[0].id' },
      { id: '9007199254740993' },
      '/jobs/9007199254740993',
    ],
    [
      'beyond 2^53, joined to a text',
      { body: '{"id":12345678901234567890}' },
      { id: '"run-" & id' },
      { id: 'run-12345678901234567890' },
      '/jobs/run-12345678901234567890',
    ],
    [
      'with a slash in it',
      { body: { id: 'folder/app #7' } },
      { id: 'id' },
      { id: 'folder/app #7' },
      '/jobs/folder%2Fapp%20%237',
    ],
    [
      'that is the whole text',
      { headers: { 'content-type': 'text/plain' }, body: 'job-9' },
      { id: '$' },
      { id: 'job-9' },
      '/jobs/job-9',
    ],
    ['read off the HTTP status', { status: 201, body: {} }, { id: '"s" & $status' }, { id: 's201' }, '/jobs/s201'],
    ['that the key is', { status: 202 }, { id: '$key' }, { id: 'k-1' }, '/jobs/k-1'],
  ]
  it.each(rows)('%s is there in the path of the next request', async (_, reply, create, ref, path) => {
    const up = await upstream({ 'POST /jobs': reply, [`GET ${path}`]: { body: { status: 'done' } } })
    const job = adapter({ baseUrl: up.url, create: post(create) })
    const made = await job.create()
    expect(made).toEqual(ref)
    expect(await job.look(made)).toMatchObject({ phase: 'succeeded' })
    expect(up.paths()).toEqual(['POST /jobs', `GET ${path}`])
  })

  const places: [string, string, string][] = [
    ['a whole URL of an inner host', 'http://inner.local:8080/v1/jobs/7?x=1', '/v1/jobs/7?x=1'],
    ['a path from the root', '/v1/jobs/7', '/v1/jobs/7'],
    ['a path beside the request', 'jobs/7', '/v1/jobs/7'],
    ['a path with dots', '../v2/jobs/7', '/v2/jobs/7'],
    ['another host without a scheme', '//evil.example/v1/jobs/7', '/v1/jobs/7'],
    ['a fragment', '/v1/jobs/7#now', '/v1/jobs/7'],
  ]
  it.each(places)(
    'of a Location without `match` is a place on the configured origin: %s',
    async (_, location, path) => {
      const up = await upstream({
        'POST /v1/start': { status: 202, headers: { location } },
        [`GET ${path}`]: { body: { status: 'done' } },
      })
      const job = adapter({
        baseUrl: `${up.url}/v1`,
        headers: { authorization: () => 'Bearer for-home' },
        create: { method: 'POST', path: '/start', id: { header: 'location' } },
        get: { path: '{ref.id}' },
      })
      const ref = await job.create()
      expect(ref).toEqual({ id: `${up.url}${path}` })
      expect(await job.look(ref)).toMatchObject({ phase: 'succeeded' })
      expect(up.seen[1]?.headers.authorization).toBe('Bearer for-home')
    },
  )

  it.each([['ftp://inner.example/jobs/7'], ['javascript:alert(1)'], ['http://user:pass@inner.example/jobs/7']])(
    'is not read off the Location %j, and nobody knows what became of the job',
    async (location) => {
      const up = await upstream({ 'POST /jobs': { status: 202, headers: { location } } })
      const job = adapter({ baseUrl: up.url, create: post({ id: { header: 'location' } }), get: { path: '{ref.id}' } })
      await expect(job.create()).rejects.toMatchObject({ noEffect: false, code: 'upstream' })
    },
  )

  it('of a place keeps the query of its own, and takes on that of the request', async () => {
    const up = await upstream({ 'GET /jobs/7?sig=a%2Fb&full=true': { body: { status: 'done' } } })
    const job = adapter({ baseUrl: up.url, get: { path: '{ref.id}', query: { full: true } } })
    expect(await job.look({ id: `${up.url}/jobs/7?sig=a%2Fb` })).toMatchObject({ phase: 'succeeded' })
  })

  it.each(['/jobs/%2e%2e/admin', '/jobs/../admin', 'https://x.example/a/..;/b', '/jobs/%252e%252e/x'])(
    'that is the place %j is refused, as what a caller chose may stand in it',
    async (id) => {
      const up = await upstream({})
      await expect(adapter({ baseUrl: up.url, get: { path: '{ref.id}' } }).look({ id })).rejects.toThrow(/ref\.id/)
      expect(up.seen).toHaveLength(0)
    },
  )
})

describe('an answer to create that names no job', () => {
  const rows: [string, Reply, Partial<Create>, RegExp][] = [
    ['has another member', { body: { name: 'x' } }, { id: 'id' }, /answered 200, but .* no id/],
    ['has an empty id', { body: { id: '' } }, { id: 'id' }, /no id/],
    ['has null for an id', { body: { id: null } }, { id: 'id' }, /no id/],
    ['has a list for an id', { body: { id: [1, 2] } }, { id: 'id' }, /no id/],
    ['has true for an id', { body: { id: true } }, { id: 'id' }, /no id/],
    ['has no body', { status: 204 }, { id: 'id' }, /answered 204, but .* no id/],
    ['has no such header', { status: 202 }, { id: { header: 'location' } }, /no id/],
    [
      'has a header that does not match',
      { status: 202, headers: { location: '/other/7' } },
      { id: { header: 'location', match: '/jobs/(\\d+)' } },
      /no id/,
    ],
    [
      'has one member of two, and not the id',
      { body: { attempt: 2 } },
      { id: 'id', ref: { attempt: 'attempt' } },
      /no id, attempt/,
    ],
    ['breaks the expression', { body: { id: 'x' } }, { id: 'id * 2' }, /expression "id \* 2" failed/],
    ['breaks the function', { body: null }, { id: (body) => (body as { id: string }).id }, /Cannot read/],
  ]
  it.each(rows)('(%s) may have started one all the same', async (_, reply, create, problem) => {
    const up = await upstream({ 'POST /jobs': reply })
    const failed = adapter({ baseUrl: up.url, create: post(create) }).create()
    await expect(failed).rejects.toBeInstanceOf(UpstreamError)
    await expect(failed).rejects.toMatchObject({
      noEffect: false,
      transient: false,
      message: expect.stringMatching(problem),
    })
  })

  it('may have an id, and still lack another member', async () => {
    const up = await upstream({ 'POST /jobs': { body: { id: 1 } } })
    const job = adapter({ baseUrl: up.url, create: post({ id: 'id', ref: { attempt: 'attempt' } }) })
    expect(await job.create()).toEqual({ id: 1 })
  })
  it('carries the words of the upstream, shortened', async () => {
    const up = await upstream({ 'POST /jobs': { body: { note: `accepted, look later ${'x'.repeat(5_000)}` } } })
    const failed = adapter({ baseUrl: up.url, create: post({ id: 'id' }) }).create()
    await expect(failed).rejects.toThrow(/accepted, look later/)
    await expect(failed).rejects.toSatisfy((error: Error) => error.message.length < 700)
  })
  it('is a refusal where the status says so, and then there is no job', async () => {
    const up = await upstream({ 'POST /jobs': { status: 422, body: { message: 'no such scene' } } })
    await expect(adapter({ baseUrl: up.url }).create()).rejects.toMatchObject({
      status: 422,
      noEffect: true,
      message: expect.stringContaining('no such scene'),
    })
  })
  it('is never asked for twice', async () => {
    const up = await upstream({ 'POST /jobs': { status: 503 } })
    await expect(adapter({ baseUrl: up.url }).create()).rejects.toMatchObject({ status: 503, noEffect: false })
    expect(up.seen).toHaveLength(1)
  })
})

describe('a preparation', () => {
  const upload = { method: 'POST', path: '/uploads', ref: { upload: 'id' } }
  const prepare = [
    upload,
    { method: 'POST', path: '/threads/{ref.upload}', ref: { thread: 'id' }, when: '$input.threaded' },
  ]
  const create = post({ body: { upload: '{ref.upload}', thread: '{ref.thread}' }, id: 'id' })
  const routes: Routes = {
    'POST /uploads': { body: { id: 'u1' } },
    'POST /threads/u1': { body: { id: 't1' } },
    'POST /jobs': { body: { id: 9 } },
  }
  it('leaves out those whose `when` does not hold', async () => {
    const up = await upstream(routes)
    expect(await adapter({ baseUrl: up.url, prepare, create }, { threaded: false }).create()).toEqual({
      upload: 'u1',
      id: 9,
    })
    expect(up.paths()).toEqual(['POST /uploads', 'POST /jobs'])
    expect(up.seen[1]?.body).toEqual({ upload: 'u1' })
  })
  it('gives its members to create and to the ref', async () => {
    const up = await upstream(routes)
    expect(await adapter({ baseUrl: up.url, prepare, create }, { threaded: true }).create()).toEqual({
      upload: 'u1',
      thread: 't1',
      id: 9,
    })
    expect(up.seen[2]?.body).toEqual({ upload: 'u1', thread: 't1' })
  })
  it('may give nothing', async () => {
    const up = await upstream({ ...routes, 'PUT /lock': { status: 204 } })
    const job = adapter({ baseUrl: up.url, prepare: { method: 'PUT', path: '/lock' }, create: post({ id: 'id' }) })
    expect(await job.create()).toEqual({ id: 9 })
  })

  const failures: [string, Reply | undefined, object, RegExp][] = [
    ['is refused', { status: 403 }, {}, /answered 403/],
    ['breaks', { status: 502 }, {}, /answered 502/],
    ['answers nothing to go on with', { body: {} }, {}, /the answer cannot be used: it holds no upload/],
    [
      'answers what its expression cannot read',
      { body: { id: 'x' } },
      { ref: { upload: 'id * 2' } },
      /cannot be used: .*failed/,
    ],
    ['cannot be chosen', undefined, { when: '$error("x")' }, /prepare\.when: .*failed: x/],
    ['lacks a value', undefined, { path: '/uploads/{input.missing}' }, /input\.missing: is missing/],
    ['lacks its environment', undefined, { headers: { x: '{env.HTTP_JOB_NOT_SET}' } }, /HTTP_JOB_NOT_SET: is not set/],
  ]
  it.each(failures)('that %s certainly made no job', async (_, reply, over, problem) => {
    const up = await upstream({ ...routes, ...(reply ? { 'POST /uploads': reply } : {}) })
    const job = adapter({ baseUrl: up.url, prepare: { ...upload, ...over }, create: post({ id: 'id' }) })
    const failed = job.create()
    await expect(failed).rejects.toThrow(problem)
    await expect(failed).rejects.toSatisfy(
      (error: { code: string; noEffect?: boolean }) =>
        error.noEffect === true || error.code === 'input' || error.code === 'definition',
    )
    expect(up.paths()).not.toContain('POST /jobs')
  })
  it('whose answer never came is no job either', async () => {
    const up = await upstream({ ...routes, 'POST /uploads': { hangUp: true } })
    await expect(adapter({ baseUrl: up.url, prepare, create }).create()).rejects.toMatchObject({
      fault: 'network',
      noEffect: true,
    })
  })
})

describe('a create that is chosen', () => {
  it('by none of its conditions is an error before anything is sent', async () => {
    const up = await upstream({})
    const create = [post({ when: '$input.size > 10', id: 'id' })]
    await expect(adapter({ baseUrl: up.url, create }, { size: 1 }).create()).rejects.toMatchObject({
      code: 'unsupported',
    })
    await expect(adapter({ baseUrl: up.url, create }, { size: 'big' }).create()).rejects.toMatchObject({
      code: 'input',
      message: expect.stringContaining('create.when'),
    })
    expect(up.seen).toHaveLength(0)
  })
})

describe('a create that answers no id', () => {
  const locate = { path: '/jobs', query: { key: '{key}' }, id: 'jobs[key = $key].id' }
  const create = { method: 'POST', path: '/jobs' }
  it('is followed by looks for the job, faults among them, until it is listed', async () => {
    const answers: Reply[] = [
      { body: { jobs: [] } },
      { status: 503 },
      {
        body: {
          jobs: [
            { key: 'other', id: 4 },
            { key: 'k-1', id: 5 },
          ],
        },
      },
    ]
    const up = await upstream({ 'POST /jobs': { status: 204 }, 'GET /jobs?key=k-1': () => answers.shift() ?? {} })
    expect(await adapter({ baseUrl: up.url, create, locate }).create()).toEqual({ id: 5 })
    expect(up.paths()).toEqual(['POST /jobs', ...Array(3).fill('GET /jobs?key=k-1')])
  })
  it('whose job is never listed leaves nobody knowing, once the time is up', async () => {
    const time = new AbortController()
    let asked = 0
    const up = await upstream({
      'POST /jobs': { status: 204 },
      'GET /jobs?key=k-1': () => {
        if (++asked === 2) time.abort()
        return { body: { jobs: [] } }
      },
    })
    const failed = adapter({ baseUrl: up.url, create, locate }, {}, { signal: time.signal }).create()
    await expect(failed).rejects.toMatchObject({
      noEffect: false,
      message: expect.stringContaining('`locate` does not find it'),
    })
    expect(asked).toBe(2)
  })
  it('and whose `locate` is refused leaves nobody knowing, at once', async () => {
    const up = await upstream({ 'POST /jobs': { status: 204 }, 'GET /jobs?key=k-1': { status: 400 } })
    await expect(adapter({ baseUrl: up.url, create, locate }).create()).rejects.toMatchObject({ noEffect: false })
    expect(up.seen).toHaveLength(2)
  })
})

describe('a job that must be looked for', () => {
  const prepare = { method: 'POST', path: '/threads', ref: { thread: 'id' } }
  const locate = { path: '/jobs', query: { thread: '{ref.thread}' }, id: 'jobs[0].id' }
  const routes: Routes = {
    'POST /threads': { body: { id: 't1' } },
    'GET /jobs?thread=t1': { body: { jobs: [{ id: 5 }] } },
    'GET /jobs': { body: { jobs: [{ id: 'of somebody else' }] } },
  }
  const lost: [string, Reply][] = [
    ['no answer', { hangUp: true }],
    ['a 502', { status: 502 }],
    ['an answer without its id', { body: {} }],
    ['an answer that its expression cannot read', { body: { id: [{}] } }],
  ]
  it.each(lost)('after %s is found by what its preparation gave', async (_, reply) => {
    const up = await upstream({ ...routes, 'POST /jobs': reply })
    const job = adapter({ baseUrl: up.url, prepare, locate, create: post({ id: 'id * 1' }) })
    expect(await job.create()).toEqual({ thread: 't1', id: 5 })
    expect(up.paths()).toEqual(['POST /threads', 'POST /jobs', 'GET /jobs?thread=t1'])
  })
  it('is not looked for when it was refused', async () => {
    const up = await upstream({ ...routes, 'POST /jobs': { status: 403 } })
    const job = adapter({ baseUrl: up.url, prepare, locate, create: post({ id: 'id' }) })
    await expect(job.create()).rejects.toMatchObject({ status: 403, noEffect: true })
    expect(up.paths()).toEqual(['POST /threads', 'POST /jobs'])
  })
  it('is not taken for any other once nothing is known of its preparation', async () => {
    const up = await upstream(routes)
    const job = adapter({ baseUrl: up.url, prepare, locate, create: post({ id: 'id' }) })
    expect(await job.locate()).toBeUndefined()
    expect(up.seen).toHaveLength(0)
  })
  it('and is not found keeps the first fault', async () => {
    const up = await upstream({ ...routes, 'POST /jobs': { status: 502 }, 'GET /jobs?thread=t1': { status: 500 } })
    const job = adapter({ baseUrl: up.url, prepare, locate, create: post({ id: 'id' }) })
    await expect(job.create()).rejects.toMatchObject({ status: 502, noEffect: false })
  })
})
