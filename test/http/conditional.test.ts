import { describe, expect, it } from 'vitest'
import { cacheKey, conditionOf, createConditionalCache } from '../../src/http/conditional.js'
import type { HttpRequest } from '../../src/http/index.js'
import { client, json, serve } from './support.js'

/** An upstream with one document that answers 304 to the validator of its current state. */
async function versioned(extra: Record<string, string> = {}) {
  const state = { version: 1 }
  const { baseUrl, hits } = await serve((hit, res) => {
    const etag = `"v${state.version}"`
    if (hit.headers['if-none-match'] === etag)
      res.writeHead(304, { etag, 'x-ratelimit-remaining': '5', ...extra }).end()
    else json(res, 200, { version: state.version, id: 'BIG' }, { etag, 'x-ratelimit-remaining': '9', ...extra })
  })
  return { ...client(baseUrl), baseUrl, state, hits }
}

describe('conditional requests', () => {
  it('give the same answer again after 304, with status 200', async () => {
    const { send, state, hits } = await versioned()
    const first = await send('x')
    const second = await send('x')
    expect(second).toMatchObject({ status: 200, body: { version: 1 }, text: first.text, droppedBytes: 0 })
    expect(second.headers).toMatchObject({ 'content-type': 'application/json', 'x-ratelimit-remaining': '5' })
    state.version = 2
    expect((await send('x')).body).toMatchObject({ version: 2 })
    expect((await send('x')).body).toMatchObject({ version: 2 })
    expect(hits.map((hit) => hit.headers['if-none-match'])).toEqual([undefined, '"v1"', '"v1"', '"v2"'])
  })

  it('tell the pace of the 304', async () => {
    const { bind, at } = await versioned()
    await bind().send({ url: at('x') })
    const http = bind()
    await http.send({ url: at('x') })
    expect(http.hints().rateRemaining).toBe(5)
  })

  it('hand each reader a body of its own', async () => {
    const { send } = await versioned()
    const first = await send('x')
    Object.assign(first.body as object, { version: 'changed' })
    const second = await send('x')
    Object.assign(second.body as object, { version: 'changed' })
    expect((await send('x')).body).toMatchObject({ version: 1 })
  })

  it.each([
    ['another URL', { name: 'y' }],
    ['other credentials', { headers: { authorization: 'Bearer other' } }],
    ['another key header', { headers: { authorization: 'Bearer one', 'x-api-key': 'k' } }],
    ['another type', { headers: { authorization: 'Bearer one', accept: 'application/vnd.x+json' } }],
  ])('are not made for %s', async (_name, request: Partial<HttpRequest> & { name?: string }) => {
    const { send, hits } = await versioned()
    await send('x', { headers: { authorization: 'Bearer one' } })
    await send(request.name ?? 'x', request)
    expect(hits[1]?.headers).not.toHaveProperty('if-none-match')
  })

  it.each([
    ['a POST', { method: 'POST' }],
    ['a condition of its own', { headers: { 'if-match': '"z"' } }],
    ['a range', { headers: { Range: 'bytes=0-1' } }],
    ['a log', { keepTail: true }],
    ['a body', { json: {} }],
  ])('are never made for %s, though it was sent before', async (_name, request: Partial<HttpRequest>) => {
    const { send, hits } = await versioned()
    await send('x', request)
    await send('x', request)
    expect(hits[1]?.headers).not.toHaveProperty('if-none-match')
  })

  it.each([203, 206])('are not made after %i', async (status) => {
    const { baseUrl, hits } = await serve((_hit, res) => json(res, status, {}, { etag: '"e"' }))
    const { send } = client(baseUrl)
    await send('x')
    await send('x')
    expect(hits[1]?.headers).not.toHaveProperty('if-none-match')
  })

  it('do not care for headers that differ each time and mean nothing', async () => {
    const { send, hits } = await versioned()
    let count = 0
    const next = () => {
      count += 1
      return String(count)
    }
    const headers = { 'x-request-id': next, traceparent: next }
    await send('x', { headers })
    await send('x', { headers })
    expect(hits[1]?.headers['if-none-match']).toBe('"v1"')
  })

  it.each([
    ['no-store', { 'cache-control': 'private, No-Store' }],
    ['vary: *', { vary: '*' }],
  ])('are not made after %s', async (_name, extra) => {
    const { send, hits } = await versioned(extra)
    await send('x')
    await send('x')
    expect(hits[1]?.headers).not.toHaveProperty('if-none-match')
  })

  it('fall back to Last-Modified only when it is old enough to prove anything', async () => {
    const { baseUrl, hits } = await serve((hit, res) => {
      if (hit.headers['if-modified-since'] !== undefined) {
        res.writeHead(304).end()
        return
      }
      const modified = hit.url === '/old' ? 'Wed, 02 Dec 2026 00:00:00 GMT' : 'Wed, 02 Dec 2026 00:09:30 GMT'
      json(res, 200, {}, { date: 'Wed, 02 Dec 2026 00:10:00 GMT', 'last-modified': modified })
    })
    const { send } = client(baseUrl)
    for (const name of ['old', 'old', 'new', 'new']) expect((await send(name)).status).toBe(200)
    expect(hits.map((hit) => hit.headers['if-modified-since'])).toEqual([
      undefined,
      'Wed, 02 Dec 2026 00:00:00 GMT',
      undefined,
      undefined,
    ])
  })

  it('leave a 304 that nobody asked for as what it is', async () => {
    const { baseUrl } = await serve((_hit, res) => void res.writeHead(304).end())
    const { fault, send } = client(baseUrl)
    expect((await fault('x')).message).toContain('answered 304')
    expect((await send('x', { accept: [304], headers: { 'if-none-match': '"mine"' } })).status).toBe(304)
  })

  it('do not keep faults', async () => {
    const { baseUrl, hits } = await serve((_hit, res) => {
      if (hits.length === 1) res.writeHead(200, { etag: '"e"', 'content-type': 'text/html' }).end('<html>')
      else json(res, 200, {})
    })
    await client(baseUrl).send('x')
    expect(hits[1]?.headers).not.toHaveProperty('if-none-match')
  })

  it('share nothing between two clients', async () => {
    const { send, baseUrl, hits } = await versioned()
    await send('x')
    await client(baseUrl).send('x')
    expect(hits[1]?.headers).not.toHaveProperty('if-none-match')
  })
})

describe('the cache', () => {
  const answer = (text: string, etag = '"e"') => ({ headers: { etag }, text })

  it('drops what was used longest ago', () => {
    const cache = createConditionalCache(3, 1_000)
    for (const key of ['a', 'b', 'c']) cache.keep(key, answer(key))
    cache.find('a')
    cache.keep('d', answer('d'))
    expect(['a', 'b', 'c', 'd'].map((key) => cache.find(key)?.text)).toEqual(['a', undefined, 'c', 'd'])
  })

  it('is bounded in size, also by replacing', () => {
    const cache = createConditionalCache(100, 1_000)
    for (let n = 0; n < 50; n += 1) cache.keep('same', answer('x'.repeat(900)))
    expect(cache.find('same')?.text).toHaveLength(900)
    for (let n = 0; n < 50; n += 1) cache.keep(`k${n}`, answer('x'.repeat(100)))
    const kept = Array.from({ length: 50 }, (_, n) => cache.find(`k${n}`)).filter((entry) => entry !== undefined)
    expect(kept).toHaveLength(10)
    expect(cache.find('same')).toBeUndefined()
    cache.keep('huge', answer('x'.repeat(1_001)))
    expect(cache.find('huge')).toBeUndefined()
    expect(cache.find('k49')).toBeDefined()
  })

  it('forgets an answer that has lost its validator', () => {
    const cache = createConditionalCache()
    cache.keep('a', answer('a'))
    cache.keep('a', { headers: {}, text: 'b' })
    expect(cache.find('a')).toBeUndefined()
    expect(conditionOf(cache.find('a'))).toEqual({})
  })

  it('has keys that hold no credential and do not depend on order', () => {
    const key = cacheKey('http://h/', { authorization: 'Bearer secret', accept: 'a' })
    expect(key).not.toContain('secret')
    expect(cacheKey('http://h/', { accept: 'a', authorization: 'Bearer secret' })).toBe(key)
    expect(cacheKey('http://h/', { authorization: 'Bearer secret2', accept: 'a' })).not.toBe(key)
  })
})
