import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { HeaderValue } from '../../src/http/index.js'
import { responseUrl } from '../../src/http/index.js'
import { client, faultOf, json, serve } from './support.js'

const SECRET = 'Sup3rSecretToken'

/** An upstream that takes one token at a time, and a caching token source like those of OAuth libraries. */
async function guarded(options: { status?: number; headers?: Record<string, string> } = {}) {
  const state = { valid: 'token-1', cached: 'token-1', refreshes: 0, calls: 0 }
  const { baseUrl, hits } = await serve((hit, res) => {
    if (hit.headers.authorization === `Bearer ${state.valid}`) json(res, 200, { ok: true })
    else json(res, options.status ?? 401, { message: 'bad credentials' }, options.headers)
  })
  const authorization: HeaderValue = async ({ refused }) => {
    state.calls += 1
    if (refused) {
      state.refreshes += 1
      await new Promise((resolve) => setImmediate(resolve))
      state.cached = state.valid
    }
    return `Bearer ${state.cached}`
  }
  return { ...client(baseUrl), state, hits, headers: { authorization } }
}

describe('header functions', () => {
  it('are asked anew for each request', async () => {
    const { baseUrl, hits } = await serve((_hit, res) => json(res, 200, {}))
    const { send } = client(baseUrl)
    let count = 0
    const next = () => {
      count += 1
      return String(count)
    }
    const headers = {
      'X-Count': next,
      'x-later': async () => 'value',
      'x-none': () => undefined,
      'x-absent': undefined,
      'x-fixed': ' padded\n',
    }
    await send('a', { headers })
    await send('b', { headers })
    expect(hits.map((hit) => hit.headers['x-count'])).toEqual(['1', '2'])
    expect(hits[0]?.headers).toMatchObject({ 'x-later': 'value', 'x-fixed': 'padded' })
    expect(hits[0]?.headers).not.toHaveProperty('x-none')
    expect(hits[0]?.headers).not.toHaveProperty('x-absent')
  })

  it('that throw are a transient fault of the credentials, with nothing sent and nothing told', async () => {
    const { baseUrl, hits } = await serve((_hit, res) => json(res, 200, {}))
    const authorization = () => {
      throw new Error(`cannot reach https://ann:${SECRET}@idp.example`)
    }
    const error = await client(baseUrl).fault('x', { method: 'POST', headers: { authorization } })
    expect(error).toMatchObject({ transient: true, noEffect: true })
    expect(error.message).toBe(
      'POST /{} was not sent: the credentials (header "authorization") could not be had: their function failed',
    )
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET)
    expect(hits).toHaveLength(0)
  })

  it.each([
    ['a number', 7],
    ['an object', {}],
    ['a line break inside', 'a\nb: c'],
    ['another script', '日本日本日本'],
  ])('that give %s are a fault of the credentials', async (_name, value) => {
    const { baseUrl, hits } = await serve((_hit, res) => json(res, 200, {}))
    const error = await client(baseUrl).fault('x', { headers: { 'x-token': (() => value) as HeaderValue } })
    expect(error.message).toContain('credentials (header "x-token")')
    expect(error).toMatchObject({ transient: true, noEffect: true })
    expect(hits).toHaveLength(0)
  })

  it('that hang are ended by the limit', async () => {
    const { baseUrl, hits } = await serve((_hit, res) => json(res, 200, {}))
    const authorization = () => new Promise<string>(() => {})
    const error = await client(baseUrl).fault('x', { headers: { authorization } }, 50)
    expect(error.message).toBe(
      'GET /{} was not sent: the credentials (header "authorization") did not arrive in time (50 ms)',
    )
    expect(error).toMatchObject({ transient: true, noEffect: true })
    expect(hits).toHaveLength(0)
  })
})

describe('refused credentials', () => {
  it.each([401, 403])('are renewed once after %i, and the request is sent again, also a POST', async (status) => {
    const { send, state, hits, headers } = await guarded({ status })
    state.valid = 'token-2'
    expect((await send('x', { method: 'POST', json: { a: 1 }, headers })).body).toEqual({ ok: true })
    expect(state.refreshes).toBe(1)
    expect(hits.map((hit) => [hit.method, hit.body, hit.headers.authorization])).toEqual([
      ['POST', '{"a":1}', 'Bearer token-1'],
      ['POST', '{"a":1}', 'Bearer token-2'],
    ])
    await send('x', { headers })
    expect(state.refreshes).toBe(1)
    expect(hits).toHaveLength(3)
  })

  it('are renewed in the middle of a long poll', async () => {
    const { send, state, headers } = await guarded()
    await send('x', { headers })
    state.valid = 'token-2'
    await send('x', { headers })
    state.valid = 'token-3'
    await send('x', { headers })
    expect(state.refreshes).toBe(2)
  })

  it('are renewed once for all requests that were refused together', async () => {
    const together = 12
    let refusedAll = () => {}
    const allRefused = new Promise<void>((resolve) => {
      refusedAll = resolve
    })
    let refusals = 0
    const { baseUrl, hits } = await serve((hit, res) => {
      const good = hit.headers.authorization === 'token-2'
      json(res, good ? 200 : 401, {})
      refusals += good ? 0 : 1
      if (refusals === together) refusedAll()
    })
    let refreshes = 0
    const authorization: HeaderValue = async ({ refused }) => {
      if (!refused) return 'token-1'
      refreshes += 1
      await allRefused
      return 'token-2'
    }
    const { send } = client(baseUrl)
    const answers = await Promise.all(Array.from({ length: together }, () => send('x', { headers: { authorization } })))
    expect(answers.map((answer) => answer.status)).toEqual(Array(together).fill(200))
    expect(refreshes).toBe(1)
    expect(hits).toHaveLength(2 * together)
  })

  it('are not renewed again by a request whose refusal arrives after the renewal', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let valid = 'token-1'
    let refreshes = 0
    const { baseUrl } = await serve(async (hit, res) => {
      const good = hit.headers.authorization === valid
      if (hit.url === '/slow' && !good) await held
      json(res, good ? 200 : 401, {})
    })
    const authorization = ({ refused }: { refused: boolean }) => {
      if (refused) refreshes += 1
      return refused ? 'token-2' : 'token-1'
    }
    const headers = { authorization }
    const { send } = client(baseUrl)
    valid = 'token-2'
    const slow = send('slow', { headers })
    await send('quick', { headers })
    release()
    expect((await slow).status).toBe(200)
    expect(refreshes).toBe(1)
  })

  it('end the request when they stay refused: one renewal, two requests, a transient fault that changed nothing', async () => {
    const { fault, state, hits, headers } = await guarded()
    state.valid = 'never'
    const refusing = {
      authorization: async (call: { refused: boolean }) => `${await headers.authorization(call)}-wrong`,
    }
    const error = await fault('x', { headers: refusing })
    expect(error).toMatchObject({ fault: 'status', status: 401, transient: true, noEffect: true })
    expect(error.message).toBe('GET /{} answered 401 also after the credentials were renewed: bad credentials')
    expect(state.refreshes).toBe(1)
    expect(hits).toHaveLength(2)
  })

  it('that are fixed are not tried again', async () => {
    const { fault, hits } = await guarded()
    const error = await fault('x', { headers: { authorization: 'Bearer wrong' } })
    expect(error).toMatchObject({ status: 401, transient: true, noEffect: true })
    expect(hits).toHaveLength(1)
  })

  it.each([
    [403, { 'retry-after': '60' }],
    [403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' }],
    [429, {}],
  ])('are not suspected when the answer is a rate limit: %i %j', async (status, limit) => {
    const { fault, state, hits, headers } = await guarded({ status, headers: limit })
    state.valid = 'token-2'
    const error = await fault('x', { headers })
    expect(error).toMatchObject({ status, transient: true, noEffect: true })
    expect(state.refreshes).toBe(0)
    expect(hits).toHaveLength(1)
  })

  it('whose renewal fails give a transient fault that speaks of credentials; the next request asks again', async () => {
    const { send, fault, state, headers } = await guarded()
    state.valid = 'token-2'
    let broken = true
    const authorization: HeaderValue = (call) => {
      if (call.refused && broken) throw new Error(`the token endpoint answered 500 for client_secret=${SECRET}`)
      return headers.authorization(call)
    }
    const error = await fault('x', { headers: { authorization } })
    expect(error).toMatchObject({ fault: 'status', status: 401, transient: true, noEffect: true })
    expect(error.message).toBe(
      'GET /{} answered 401: the credentials (header "authorization") could not be had: their function failed',
    )
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET)
    broken = false
    expect((await send('x', { headers: { authorization } })).status).toBe(200)
  })

  it('whose renewal hangs hold up nobody for longer than their own limit, and nobody who comes later', async () => {
    const { send, fault, state, headers } = await guarded()
    state.valid = 'token-2'
    let hang = true
    const authorization: HeaderValue = (call) =>
      call.refused && hang ? new Promise<string>(() => {}) : headers.authorization(call)
    const error = await fault('x', { headers: { authorization } }, 400)
    expect(error.message).toBe(
      'GET /{} answered 401: the credentials (header "authorization") did not arrive in time (400 ms)',
    )
    hang = false
    expect((await send('x', { headers: { authorization } })).status).toBe(200)
  })

  it('are not renewed where the caller takes the refusal for an answer', async () => {
    const { send, state, hits, headers } = await guarded({ status: 403 })
    state.valid = 'token-2'
    expect((await send('x', { headers, accept: [403] })).status).toBe(403)
    expect(state.refreshes).toBe(0)
    expect(hits).toHaveLength(1)
  })

  it('of several headers are all renewed', async () => {
    const asked: string[] = []
    const { baseUrl, hits } = await serve((hit, res) => json(res, hit.headers['x-b'] === 'new' ? 200 : 401, {}))
    const source = (name: string) => (call: { refused: boolean }) => {
      if (call.refused) asked.push(name)
      return call.refused ? 'new' : 'old'
    }
    await client(baseUrl).send('x', { headers: { 'x-a': source('a'), 'x-b': source('b'), 'x-c': 'fixed' } })
    expect(asked.sort()).toEqual(['a', 'b'])
    expect(hits[1]?.headers).toMatchObject({ 'x-a': 'new', 'x-b': 'new', 'x-c': 'fixed' })
  })

  it('that a renewal leaves out are left out', async () => {
    const { baseUrl, hits } = await serve((hit, res) =>
      json(res, hit.headers.authorization === undefined ? 200 : 401, {}),
    )
    await client(baseUrl).send('x', {
      headers: { authorization: ({ refused }) => (refused ? undefined : 'old-token') },
    })
    expect(hits).toHaveLength(2)
  })
})

describe('URLs that must not get credentials', () => {
  it("get none of the operator's headers but the three that say nothing, and ask no token source", async () => {
    const { baseUrl, hits } = await serve((_hit, res) => json(res, 200, {}))
    const url = responseUrl(`${baseUrl}/file`, {
      base: 'http://127.0.0.1:9/',
      elsewhere: 'without-credentials',
      template: '(url)',
    })
    let asked = 0
    const headers = {
      Authorization: () => {
        asked += 1
        return 'Bearer x'
      },
      Cookie: 'session=1',
      'X-Api-Key': 'key',
      'X-Anything': 'else',
      Accept: 'text/plain',
      'User-Agent': 'mine',
    }
    await client(baseUrl).bind().send({ url, headers })
    expect(asked).toBe(0)
    expect(Object.keys(hits[0]?.headers ?? {}).sort()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'host',
      'user-agent',
    ])
  })

  it('get no second request with credentials when they refuse', async () => {
    const { baseUrl, hits } = await serve((_hit, res) => json(res, 401, {}))
    const url = responseUrl(`${baseUrl}/file`, {
      base: 'http://127.0.0.1:9/',
      elsewhere: 'without-credentials',
      template: '(url)',
    })
    const error = await faultOf(
      client(baseUrl)
        .bind()
        .send({ url, headers: { authorization: () => 'Bearer x' } }),
    )
    expect(error.status).toBe(401)
    expect(hits).toHaveLength(1)
  })
})
