import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { answering, client, JSON_TYPE, serve } from './support.js'

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
