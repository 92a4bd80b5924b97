import { afterEach, describe, expect, it } from 'vitest'
import { adapter, type Reply, upstream } from './http-world.js'

/* Credentials: where they go, how they are renewed, and where they must not show. */

const NAME = 'HTTP_JOB_TEST_SECRET'
afterEach(() => {
  delete process.env[NAME]
})

/** Resolves for all once so many are waiting. */
function gate(size: number): () => Promise<void> {
  const waiting: (() => void)[] = []
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (waiting.length === size) for (const go of waiting) go()
    })
}

/** Refuses the old token, all requests with it together, and takes the new one. */
function refusing(status: number, together: () => Promise<void>) {
  return async ({ headers }: { headers: Record<string, string> }): Promise<Reply> => {
    if (headers.authorization === 'Bearer new-token-2') return { body: { id: 1, status: 'running' } }
    await together()
    return { status }
  }
}

describe('a header function', () => {
  it.each([401, 403])('is asked once for all requests that %d refuses, which are then sent again', async (status) => {
    const together = gate(3)
    const route = refusing(status, together)
    const up = await upstream({ 'GET /jobs/1': route, 'GET /jobs/2': route, 'POST /jobs/3/cancel': route })
    const calls: boolean[] = []
    let token = 'old-token-1'
    const job = adapter({
      baseUrl: up.url,
      headers: {
        authorization: ({ refused }) => {
          calls.push(refused)
          if (refused) token = 'new-token-2'
          return `Bearer ${token}`
        },
      },
      cancel: { method: 'POST', path: '/jobs/{ref.id}/cancel' },
    })
    await Promise.all([job.look({ id: 1 }), job.look({ id: 2 }), job.cancel({ id: 3 })])
    expect(calls).toEqual([false, false, false, true])
    expect(up.paths().sort()).toEqual([
      ...Array(2).fill('GET /jobs/1'),
      ...Array(2).fill('GET /jobs/2'),
      ...Array(2).fill('POST /jobs/3/cancel'),
    ])
  })

  it('is asked one time only: what the new value does not open is a fault', async () => {
    const up = await upstream({ 'GET /jobs/1': { status: 401 } })
    const calls: boolean[] = []
    const job = adapter({
      baseUrl: up.url,
      headers: {
        authorization: ({ refused }) => {
          calls.push(refused)
          return 'Bearer never-good'
        },
      },
    })
    await expect(job.look({ id: 1 })).rejects.toMatchObject({ status: 401, transient: true })
    expect(calls).toEqual([false, true])
    expect(up.seen).toHaveLength(2)
  })

  it('that fails is a fault, and nothing is sent', async () => {
    const up = await upstream({})
    const headers = {
      authorization: () => {
        throw new Error('the vault is sealed')
      },
    }
    await expect(adapter({ baseUrl: up.url, headers }).look({ id: 1 })).rejects.toMatchObject({
      transient: true,
      noEffect: true,
    })
    expect(up.seen).toHaveLength(0)
  })

  it('is not called for a path that is refused', async () => {
    const up = await upstream({})
    let calls = 0
    const job = adapter({ baseUrl: up.url, headers: { authorization: () => String(++calls) } })
    for (const id of ['../x', '%2e%2e', '..%2fx', 'a/../../b', '\u0000', 'a\r\nb', '', '．．', '%252e%252e/x'])
      await expect(job.look({ id })).rejects.toMatchObject({ code: 'input', field: 'ref.id' })
    expect(calls).toBe(0)
    expect(up.seen).toHaveLength(0)
  })
})

describe('a header from the environment', () => {
  it('is renewed once for all requests of the definition that were refused together', async () => {
    process.env[NAME] = 'old-token-1'
    const together = gate(3)
    const inTime = async () => {
      await together()
      process.env[NAME] = 'new-token-2'
    }
    const route = refusing(401, inTime)
    const up = await upstream({ 'GET /jobs/1': route, 'GET /jobs/1/steps': route, 'POST /jobs/3/cancel': route })
    const job = adapter({
      baseUrl: up.url,
      headers: { authorization: `Bearer {env.${NAME}}` },
      cancel: { method: 'POST', path: '/jobs/{ref.id}/cancel' },
    })
    await Promise.all([job.look({ id: 1 }), job.look({ id: 1 }), job.cancel({ id: 3 })])
    expect(up.seen).toHaveLength(6)
    expect(up.seen.slice(3).every(({ headers }) => headers.authorization === 'Bearer new-token-2')).toBe(true)
  })

  it('is read anew for each request, and shows nowhere', async () => {
    const up = await upstream({
      'GET /jobs/1': ({ headers }) => ({ body: { status: 'running', note: `you sent ${headers.authorization}` } }),
    })
    const job = adapter({ baseUrl: up.url, headers: { authorization: `Bearer {env.${NAME}}` }, message: 'note' })
    process.env[NAME] = 'first-secret-value'
    const { message = '' } = await job.look({ id: 1 })
    expect(up.seen[0]?.headers.authorization).toBe('Bearer first-secret-value')
    expect(job.redact(message)).toBe('you sent [redacted]')
    process.env[NAME] = 'second-secret-value\n'
    await job.look({ id: 1 })
    expect(up.seen[1]?.headers.authorization).toBe('Bearer second-secret-value')
  })

  it('may stand beside the input, in a query or in a body, and is redacted there too', async () => {
    process.env[NAME] = 's3cr3t-value-9'
    const up = await upstream({
      'POST /jobs?token=s3cr3t-value-9': { status: 400, body: { message: 'bad token s3cr3t-value-9' } },
    })
    const job = adapter(
      {
        baseUrl: up.url,
        create: {
          method: 'POST',
          path: '/jobs',
          query: { token: `{env.${NAME}}` },
          headers: { 'x-both': `{input.user}:{env.${NAME}}` },
          body: { deep: [{ token: `{env.${NAME}}` }] },
          id: 'id',
        },
      },
      { user: 'ann' },
    )
    await expect(job.create()).rejects.toMatchObject({
      message: expect.stringMatching(/bad token \[redacted\]$/),
      noEffect: true,
    })
    expect(up.seen[0]).toMatchObject({
      headers: { 'x-both': 'ann:s3cr3t-value-9' },
      body: { deep: [{ token: 's3cr3t-value-9' }] },
    })
  })

  it('may stand in the base URL', async () => {
    const up = await upstream({ 'GET /v2/jobs/1': { body: { status: 'done' } } })
    process.env[NAME] = up.url
    const job = adapter({ baseUrl: `{env.${NAME}}/v2` })
    expect((await job.look({ id: 1 })).phase).toBe('succeeded')
    process.env[NAME] = 'not a URL'
    await expect(job.look({ id: 1 })).rejects.toMatchObject({ code: 'definition' })
    delete process.env[NAME]
    await expect(job.look({ id: 1 })).rejects.toThrow(`environment variable ${NAME}: is not set`)
  })
})

describe('headers of the definition', () => {
  it('go to the same origin under another base URL, and to no other port, scheme or host', async () => {
    const home = await upstream({ 'GET /admin/jobs/1': { body: { status: 'running' } } })
    const other = await upstream({ 'GET /jobs/1': { body: { status: 'running' } } })
    const headers = { authorization: 'Bearer for-home', 'x-team': 'render' }
    const at = (baseUrl: string) => adapter({ baseUrl: home.url, headers, get: { path: '/jobs/{ref.id}', baseUrl } })
    await at(`${home.url}/admin`).look({ id: 1 })
    await at(other.url).look({ id: 1 })
    expect(home.seen[0]?.headers).toMatchObject(headers)
    expect(other.seen[0]?.headers.authorization).toBeUndefined()
    expect(other.seen[0]?.headers['x-team']).toBeUndefined()
  })
  it('give way to those of the request, however they are written', async () => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'running' } } })
    const get = { path: '/jobs/{ref.id}', headers: { AUTHORIZATION: 'Token own', 'x-team': undefined } }
    await adapter({
      baseUrl: up.url,
      headers: { Authorization: 'Bearer shared', 'X-Team': 'render', 'X-Keep': 'yes' },
      get,
    }).look({ id: 1 })
    expect(up.seen[0]?.headers).toMatchObject({ authorization: 'Token own', 'x-keep': 'yes' })
    expect(up.seen[0]?.headers['x-team']).toBeUndefined()
  })
  it('are left out where their value is absent', async () => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'running' } } })
    await adapter({
      baseUrl: up.url,
      headers: { 'x-a': '{input.a}', 'x-b': 'b {input.b}', 'x-c': () => undefined },
    }).look({ id: 1 })
    for (const name of ['x-a', 'x-b', 'x-c']) expect(up.seen[0]?.headers[name]).toBeUndefined()
  })

  const unsendable = ['a\r\nx-evil: 1', 'a\nb', 'a\rb', 'a\u0000b', 'smile 😀', 'a\u007fb', 'x\u2028y']
  it.each(unsendable)('are refused with the value %j before anything is sent', async (scene) => {
    process.env[NAME] = 'some-secret-value'
    const up = await upstream({})
    for (const value of ['{input.scene}', `{input.scene} {env.${NAME}}`])
      await expect(
        adapter({ baseUrl: up.url, headers: { 'x-scene': value } }, { scene }).create(),
      ).rejects.toMatchObject({ code: 'input', field: 'header x-scene' })
    expect(up.seen).toHaveLength(0)
  })
})
