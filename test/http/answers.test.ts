import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { HttpRequest } from '../../src/http/index.js'
import { answering, client, JSON_TYPE, json, serve } from './support.js'

describe('requests', () => {
  it.each([
    ['json', { method: 'POST', json: { a: [1, null, 'ü'] } }, '{"a":[1,null,"ü"]}', 'application/json'],
    ['json null', { method: 'POST', json: null }, 'null', 'application/json'],
    [
      'form',
      { method: 'POST', form: { a: 'x y+z&', b: [1, 2], c: undefined } },
      'a=x+y%2Bz%26&b=1&b=2',
      'application/x-www-form-urlencoded',
    ],
    ['text', { method: 'PUT', body: 'plain' }, 'plain', undefined],
    ['bytes', { method: 'PUT', body: Uint8Array.from([104, 105]) }, 'hi', undefined],
    ['nothing', { method: 'POST' }, '', undefined],
    ['a lower-case method', { method: 'post', json: 1 }, '1', 'application/json'],
    ['a GET with a body', { json: { q: 1 } }, '{"q":1}', 'application/json'],
    ['a DELETE', { method: 'DELETE' }, '', undefined],
    [
      'a content type of its own',
      { method: 'POST', json: {}, headers: { 'Content-Type': 'application/vnd.api+json' } },
      '{}',
      'application/vnd.api+json',
    ],
  ] as [string, Partial<HttpRequest>, string, string | undefined][])('sends %s', async (_name, request, body, type) => {
    const { baseUrl, hits } = await serve((_hit, res) => json(res, 200, {}))
    await client(baseUrl).send('x', request)
    expect(hits).toHaveLength(1)
    expect(hits[0]).toMatchObject({ method: (request.method ?? 'GET').toUpperCase(), body })
    expect(hits[0]?.headers['content-type']).toBe(type)
  })

  it('asks for JSON unless the caller asks for something else, and says who asks', async () => {
    const { baseUrl, hits } = await serve((_hit, res) => json(res, 200, {}))
    const { send } = client(baseUrl, { userAgent: 'farm-tools/2' })
    await send('a')
    await send('b', { headers: { Accept: 'text/plain', 'User-Agent': 'mine' } })
    await send('c', { keepTail: true })
    expect(hits.map((hit) => [hit.headers.accept, hit.headers['user-agent']])).toEqual([
      ['application/json', 'farm-tools/2'],
      ['text/plain', 'mine'],
      ['*/*', 'farm-tools/2'],
    ])
  })

  it.each([
    ['a bigint', { json: { a: 1n } }],
    ['a circle', { json: circular() }],
    ['a function', { json: () => 1 }],
    ['a header with a line break', { headers: { 'x-a': 'b\r\nx-evil: 1' } }],
    ['a header beyond latin 1', { headers: { 'x-a': '日本' } }],
    ['a header name with a blank', { headers: { 'x a': 'b' } }],
  ])('refuses %s before anything is sent', async (_name, request) => {
    const { baseUrl, hits } = await serve((_hit, res) => json(res, 200, {}))
    const sent = client(baseUrl).send('x', { method: 'POST', ...(request as Partial<HttpRequest>) })
    await expect(sent).rejects.toMatchObject({ code: 'input' })
    expect(hits).toHaveLength(0)
  })

  it('takes no URL that nobody checked', async () => {
    const { baseUrl, hits } = await serve((_hit, res) => json(res, 200, {}))
    const url = { href: `${baseUrl}/x`, credentials: true, template: '/x' } as unknown as HttpRequest['url']
    await expect(client(baseUrl).bind().send({ url })).rejects.toMatchObject({ code: 'definition' })
    expect(hits).toHaveLength(0)
  })

  it('uses one connection for many reads and a new one for each write', async () => {
    const { baseUrl, connections } = await serve((_hit, res) => json(res, 200, {}))
    const { send } = client(baseUrl)
    for (let n = 0; n < 5; n += 1) await send('x')
    expect(connections()).toBe(1)
    await send('x', { method: 'POST' })
    await send('x', { method: 'POST' })
    expect(connections()).toBe(3)
  })
})

function circular(): unknown {
  const value: { self?: unknown } = {}
  value.self = value
  return value
}

describe('good answers', () => {
  it.each([
    ['an object', '{"id":1}', JSON_TYPE, { id: 1 }],
    ['an id beyond 2^53', '{"id":9007199254740993}', JSON_TYPE, { id: '9007199254740993' }],
    ['gzip', gzipSync('{"id":1}'), { ...JSON_TYPE, 'content-encoding': 'gzip' }, { id: 1 }],
    ['brotli', brotliCompressSync('{"id":1}'), { ...JSON_TYPE, 'content-encoding': 'br' }, { id: 1 }],
    ['JSON without a content type', '{"id":1}', {}, { id: 1 }],
    ['text', 'done', { 'content-type': 'text/plain' }, 'done'],
    ['nothing', '', {}, ''],
    ['nothing as JSON', '', JSON_TYPE, ''],
    ['wrong bytes', Buffer.from([0x61, 0xff]), { 'content-type': 'text/plain' }, 'a\ufffd'],
  ])('reads %s', async (_name, body, headers, expected) => {
    const answer = await (await answering(200, body, headers)).send('x')
    expect(answer).toMatchObject({ status: 200, body: expected, droppedBytes: 0 })
  })

  it.each([200, 201, 202, 203, 204, 205, 206, 207, 226, 299])('takes %i as success', async (status) => {
    expect((await (await answering(status, '')).send('x', { method: 'POST' })).status).toBe(status)
  })

  it.each([302, 303, 304, 400, 404, 409, 422, 429, 470, 500, 503])(
    'takes %i as success where the caller accepts it',
    async (status) => {
      const { send, hits } = await answering(status, '', { location: '/elsewhere' })
      expect(await send('x', { accept: [status] })).toMatchObject({ status, headers: { location: '/elsewhere' } })
      expect(hits).toHaveLength(1)
    },
  )

  it('takes any body with a status that is accepted besides success', async () => {
    const { send } = await answering(409, '<html><title>Conflict</title></html>', { 'content-type': 'text/html' })
    expect((await send('x', { accept: [409] })).status).toBe(409)
  })

  it('gives header names in lower case and joins repeated ones', async () => {
    const { baseUrl } = await serve((_hit, res) => {
      res.writeHead(
        200,
        [
          ['X-Mixed', '1'],
          ['Link', 'a'],
          ['link', 'b'],
          ['Set-Cookie', 'c=1'],
          ['set-cookie', 'd=2'],
          ['__proto__', 'x'],
        ].flat(),
      )
      res.end()
    })
    const { headers } = await client(baseUrl).send('x')
    expect(headers).toMatchObject({ 'x-mixed': '1', link: 'a, b', 'set-cookie': 'c=1, d=2' })
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })

  it('reads HTML where the caller did not ask for JSON', async () => {
    const page = '<html><title>Log</title></html>'
    const { send } = await answering(200, page, { 'content-type': 'text/html' })
    expect((await send('x', { headers: { accept: 'text/html' } })).body).toBe(page)
    expect((await send('x', { headers: { accept: 'application/json, */*' } })).body).toBe(page)
    expect((await send('x', { keepTail: true })).body).toBe(page)
  })

  it('answers HEAD', async () => {
    const { send } = await answering(200, '', { 'x-a': '1', 'content-length': '5', 'content-type': 'text/html' })
    expect(await send('x', { method: 'HEAD' })).toMatchObject({ status: 200, text: '', headers: { 'x-a': '1' } })
  })
})

describe('sizes', () => {
  it('stops at the limit, and says so', async () => {
    const { fault } = await answering(200, 'x'.repeat(2_000), { 'content-type': 'text/plain' })
    const error = await fault('x', { maxBytes: 1_000 })
    expect(error).toMatchObject({ fault: 'body', transient: false, noEffect: false })
    expect(error.message).toBe('GET /{} answered 200 with a body larger than 1,000 bytes')
  })

  it('takes a body of exactly the limit', async () => {
    const { send } = await answering(200, 'x'.repeat(1_000), { 'content-type': 'text/plain' })
    expect((await send('x', { maxBytes: 1_000 })).text).toHaveLength(1_000)
  })

  it('stops a small archive that unpacks to a large body', async () => {
    const { fault } = await answering(200, gzipSync(Buffer.alloc(50_000_000)), { 'content-encoding': 'gzip' })
    expect((await fault('x')).message).toContain('larger than 5,000,000 bytes')
  })

  it.each([
    ['plain', (body: Buffer) => body, {}],
    ['compressed', gzipSync, { 'content-encoding': 'gzip' }],
  ])('keeps the end of a large log and counts the rest: %s', async (_name, pack, headers) => {
    const log = `${Array.from({ length: 50_000 }, (_, n) => `line ${n} é🚀`).join('\n')}\nERROR\n`
    const { send } = await answering(200, pack(Buffer.from(log)), { 'content-type': 'text/plain', ...headers })
    for (const maxBytes of [100, 101, 102, 103, 104, 65_536]) {
      const { text, droppedBytes, body } = await send('x', { keepTail: true, maxBytes })
      expect(text.endsWith('\nERROR\n')).toBe(true)
      expect(log.endsWith(text)).toBe(true)
      expect(body).toBe(text)
      expect(droppedBytes + Buffer.byteLength(text)).toBe(Buffer.byteLength(log))
      expect(Buffer.byteLength(text)).toBeGreaterThan(maxBytes - 4)
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes)
    }
  })

  it('keeps a log that fits as it is', async () => {
    const { send } = await answering(200, 'short', { 'content-type': 'text/plain' })
    expect(await send('x', { keepTail: true, maxBytes: 100 })).toMatchObject({ text: 'short', droppedBytes: 0 })
  })

  it('holds no more than the limit while it reads a log of any length', async () => {
    const chunk = Buffer.alloc(1_000_000, 'log line\n')
    const { baseUrl } = await serve((_hit, res) => {
      let left = 200
      const more = () => {
        while (left > 0) {
          left -= 1
          if (!res.write(chunk)) {
            res.once('drain', more)
            return
          }
        }
        res.end('THE END')
      }
      more()
    })
    global.gc?.()
    const before = process.memoryUsage()
    const { text, droppedBytes } = await client(baseUrl).send('x', { keepTail: true, maxBytes: 50_000 }, 60_000)
    expect(text.endsWith('THE END')).toBe(true)
    expect(droppedBytes + Buffer.byteLength(text)).toBe(200_000_007)
    const after = process.memoryUsage()
    expect(after.rss - before.rss).toBeLessThan(100_000_000)
  })
})
