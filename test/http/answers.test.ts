import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { HttpRequest } from '../../src/http/index.js'
import { client, json, serve } from './support.js'

/** A server whose every answer is the one given. */
async function answering(status: number, body: string | Buffer, headers: Record<string, string> = {}) {
  const { baseUrl, hits } = await serve((_hit, res) => {
    res.writeHead(status, headers)
    res.end(body)
  })
  return { ...client(baseUrl, { retries: 0 }), hits }
}

const JSON_TYPE = { 'content-type': 'application/json' }

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

describe('statuses that are no success', () => {
  const table: [number, boolean, boolean][] = [
    // status, transient, noEffect
    [300, false, false],
    [301, false, false],
    [302, false, false],
    [303, false, false],
    [304, false, false],
    [307, false, true],
    [308, false, true],
    [400, false, true],
    [401, true, true],
    [402, false, true],
    [403, true, true],
    [404, false, true],
    [405, false, true],
    [408, true, false],
    [409, false, true],
    [410, false, true],
    [413, false, true],
    [418, false, true],
    [422, false, true],
    [425, true, true],
    [428, false, true],
    [429, true, true],
    [451, false, true],
    [499, false, false],
    [500, true, false],
    [501, true, false],
    [502, true, false],
    [503, true, false],
    [504, true, false],
    [520, true, false],
    [599, true, false],
    [999, true, false],
  ]

  it.each(table)('%i: transient %s, without effect %s', async (status, transient, noEffect) => {
    const { fault } = await answering(status, '{"message":"why"}', status === 304 ? {} : JSON_TYPE)
    const error = await fault('x', { method: 'POST' })
    expect(error).toMatchObject({ fault: 'status', status, transient, noEffect })
    expect(error.message).toContain(`POST /{} answered ${status}`)
  })

  it.each([
    ['message', '{"message":"no such job"}', 'no such job'],
    ['error as text', '{"error":"no such job"}', 'no such job'],
    ['error as object', '{"error":{"code":7,"message":"no such job"}}', 'no such job'],
    ['OAuth', '{"error":"invalid_grant","error_description":"the code expired"}', 'the code expired'],
    ['FastAPI', '{"detail":[{"loc":["body","x"],"msg":"field required"}]}', 'field required'],
    ['problem details', '{"type":"about:blank","title":"Bad","detail":"the scene is empty"}', 'the scene is empty'],
    ['problem details, title only', '{"title":"Bad request"}', 'Bad request'],
    [
      'GitHub',
      '{"message":"Validation Failed","errors":[{"message":"ref is missing"}]}',
      'Validation Failed (ref is missing)',
    ],
    ['a list of texts', '{"errors":["a is wrong","b is wrong"]}', 'a is wrong; b is wrong'],
    ['Slurm', '{"errors":[{"error_number":2017,"error":"Invalid job id specified"}]}', 'Invalid job id specified'],
    ['Rails', '{"errors":{"name":["is too short","is taken"]}}', 'name is too short; is taken'],
    ['a bare text', '"no such job"', 'no such job'],
    ['nothing known', '{"code":7}', '{"code":7}'],
    ['a magic name', '{"__proto__":{"message":"x"},"a":1}', '{"a":1}'],
    ['an empty message', '{"message":"","error":"gone"}', 'gone'],
  ])('quotes the upstream: %s', async (_name, body, detail) => {
    const { fault } = await answering(422, body, JSON_TYPE)
    expect(await fault('x')).toMatchObject({ detail, message: `GET /{} answered 422: ${detail}` })
  })

  it.each([
    ['plain text', 'job\n  not\u0000 found\u001b[31m!', 'text/plain', 'job not found!'],
    [
      'a web page',
      '<html><head><title>502 Bad Gateway</title></head><body>secret stuff</body></html>',
      'text/html',
      '502 Bad Gateway',
    ],
    ['a web page without title', '<html><h1>Nope</h1></html>', 'text/html', 'Nope'],
    ['a bare web page', '<html></html>', 'text/html', 'a web page without a title'],
    ['nothing', '', 'text/plain', undefined],
  ])('quotes %s', async (_name, body, type, detail) => {
    const { fault } = await answering(502, body, { 'content-type': type })
    expect((await fault('x')).detail).toBe(detail)
  })

  it('quotes at most 500 characters and reads little of a large body', async () => {
    const { fault } = await answering(500, 'word '.repeat(1_000_000), { 'content-type': 'text/plain' })
    const error = await fault('x')
    expect(error.detail).toHaveLength(500)
    expect(String(error.body).length).toBeLessThanOrEqual(10_000)
  })

  it('hands the parsed body to the adapter, cleaned', async () => {
    const body = { code: 'quota', id: 1, list: ['\u001b[31ma\u0000'], nested: { token: 'ghp_AAAAAAAAAAAA' } }
    const { fault } = await answering(422, JSON.stringify(body).replace('1', '9007199254740993'), JSON_TYPE)
    expect((await fault('x')).body).toEqual({
      code: 'quota',
      id: '9007199254740993',
      list: ['a'],
      nested: { token: '[redacted]' },
    })
  })

  it('does not follow a redirect and says where it pointed, without its query', async () => {
    const { baseUrl, hits } = await serve((_hit, res) => {
      res.writeHead(302, { location: 'https://sso.example/login?token=abcdef' })
      res.end()
    })
    const error = await client(baseUrl).fault('x', { headers: { authorization: 'Bearer abcdef123' } })
    expect(error.message).toBe(
      'GET /{} answered 302, a redirect to https://sso.example/login; redirects are not followed',
    )
    expect(hits).toHaveLength(1)
  })

  it.each([
    ['/login', '/login'],
    ['', '/x'],
    ['http://[', 'a redirect; redirects'],
  ])('describes a redirect to %j', async (location, text) => {
    const { fault } = await answering(301, '', { location })
    expect((await fault('x')).message).toContain(text)
  })

  it('carries the wait that the upstream asked for', async () => {
    const { fault } = await answering(429, '', { 'retry-after': '7' })
    expect((await fault('x')).retryAfterMs).toBe(7_000)
  })
})

describe('bodies that cannot be used', () => {
  it.each([
    [
      'a web page',
      '<html><title>Sign in</title></html>',
      { 'content-type': 'text/html' },
      'answered 200 with HTML where JSON was due: Sign in',
    ],
    [
      'a web page that claims to be JSON',
      '<!doctype html><html><title>Sign in</title></html>',
      JSON_TYPE,
      'answered 200 with HTML where JSON was due: Sign in',
    ],
    [
      'a web page without a content type',
      '<html><title>Sign in</title></html>',
      {},
      'answered 200 with HTML where JSON was due: Sign in',
    ],
    ['half of a JSON document', '{"id":', JSON_TYPE, 'answered 200 with broken JSON: {"id":'],
    [
      'a text that claims to be JSON',
      'upstream connect error',
      JSON_TYPE,
      'answered 200 with broken JSON: upstream connect error',
    ],
    ['JSON nested beyond reason', '['.repeat(10_000), JSON_TYPE, 'answered 200 with broken JSON: [[['],
    [
      'a broken archive',
      'no gzip',
      { 'content-encoding': 'gzip' },
      'answered 200 with a body that cannot be decompressed',
    ],
    [
      'half of an archive',
      gzipSync('x'.repeat(1000)).subarray(0, 20),
      { 'content-encoding': 'gzip' },
      'answered 200 with a body that',
    ],
  ])('%s', async (_name, body, headers, message) => {
    const { fault } = await answering(200, body, headers)
    const error = await fault('x', { method: 'POST' })
    expect(error).toMatchObject({ fault: 'body', status: 200, transient: true, noEffect: false })
    expect(error.message).toContain(message)
  })

  it('asks for JSON in any spelling', async () => {
    const { fault } = await answering(200, '<html></html>', { 'content-type': 'text/html' })
    const headers = { accept: 'application/vnd.github+json' }
    expect((await fault('x', { headers })).fault).toBe('body')
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
