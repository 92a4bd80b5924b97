import type { HttpJobDefinition } from 'mcp-job-tools/adapters/http'
import { describe, expect, it } from 'vitest'
import { adapter, type Reply, upstream } from './http-world.js'

/* Looks that find no job, and looks that find nothing out, over real HTTP. */

describe('what means that the job is gone', () => {
  const ref = { id: 1 }
  const rows: [string, Partial<HttpJobDefinition>, Reply, string][] = [
    ['404', {}, { status: 404 }, 'gone'],
    [
      '410 with a web page',
      {},
      { status: 410, headers: { 'content-type': 'text/html' }, body: '<h1>Gone</h1>' },
      'gone',
    ],
    ['a status of a list', { gone: { status: [403, 418] } }, { status: 418 }, 'gone'],
    [
      'a body as well',
      { gone: { status: 500, body: 'job not found' } },
      { status: 500, body: { error: 'job not found' } },
      'gone',
    ],
    [
      'a body over lines',
      { gone: { status: 500, body: '"error":\\s*"job not' } },
      { status: 500, body: '{\n "error":\n "job not found"\n}' },
      'gone',
    ],
    [
      'a text body',
      { gone: { status: 400, body: '^Unknown job' } },
      { status: 400, headers: { 'content-type': 'text/plain' }, body: 'Unknown job 7' },
      'gone',
    ],
    [
      'a web page',
      { gone: { status: 500, body: 'No such build' } },
      { status: 500, headers: { 'content-type': 'text/html' }, body: '<html><title>No such build</title></html>' },
      'gone',
    ],
    ['an error in a 200', { gone: { status: 200, body: '"code": ?404' } }, { body: { code: 404 } }, 'gone'],
    [
      'a 200 of the same rule for a job that is there',
      { gone: { status: 200, body: '"code": ?404' } },
      { body: { status: 'running' } },
      'working',
    ],
    ['204', { gone: { status: 204 } }, { status: 204 }, 'gone'],
    [
      '404 in `accept`',
      { get: { path: '/jobs/{ref.id}', accept: [404] }, states: { '': 'cancelled' } },
      { status: 404, body: {} },
      'cancelled',
    ],
    ['404 in `accept`, 410 beside it', { get: { path: '/jobs/{ref.id}', accept: [404] } }, { status: 410 }, 'gone'],
    ['a word', { states: { lost: 'gone' } }, { body: { status: 'lost' } }, 'gone'],
  ]
  it.each(rows)('%s', async (_, over, reply, phase) => {
    const up = await upstream({ 'GET /jobs/1': reply })
    expect((await adapter({ baseUrl: up.url, ...over }).look(ref)).phase).toBe(phase)
  })

  const faults: [string, Partial<HttpJobDefinition>, Reply][] = [
    ['another status than the rule has', { gone: { status: 500 } }, { status: 404 }],
    [
      'another body than the rule has',
      { gone: { status: 404, body: 'no such job' } },
      { status: 404, body: { message: 'no such route' } },
    ],
    ['a 500', {}, { status: 500, body: { error: 'not found' } }],
    ['a 404 of a further read', { also: { steps: { path: '/nowhere' } } }, { body: { status: 'running' } }],
  ]
  it.each(faults)('is not %s: that passes', async (_, over, reply) => {
    const up = await upstream({ 'GET /jobs/1': reply })
    const failed = adapter({ baseUrl: up.url, ...over }).look(ref)
    await expect(failed).rejects.toMatchObject({ code: 'upstream', transient: true })
    // The engine takes these two for "gone".
    await expect(failed).rejects.not.toMatchObject({
      status: expect.toSatisfy((status) => [404, 410].includes(status as number)),
    })
  })
})

describe('a look that cannot be had', () => {
  const rows: [string, Reply, object][] = [
    ['breaks off', { hangUp: true }, { fault: 'network', transient: true }],
    [
      'is a web page',
      { headers: { 'content-type': 'text/html' }, body: '<h1>Sign in</h1>' },
      { fault: 'body', transient: true },
    ],
    ['is broken JSON', { body: '{"status":' }, { fault: 'body', transient: true }],
    ['is a redirect', { status: 302, headers: { location: '/login' } }, { fault: 'status', status: 302 }],
    [
      'is limited',
      { status: 429, headers: { 'retry-after': '7' } },
      { status: 429, transient: true, retryAfterMs: 7_000 },
    ],
    [
      'is a 500',
      { status: 500, body: { message: 'database is down' } },
      { status: 500, transient: true, detail: 'database is down' },
    ],
  ]
  it.each(rows)('%s', async (_, reply, fault) => {
    const up = await upstream({ 'GET /jobs/1': reply })
    await expect(adapter({ baseUrl: up.url }).look({ id: 1 })).rejects.toMatchObject(fault)
  })
  it('ends after its own time', async () => {
    const up = await upstream({ 'GET /jobs/1': () => new Promise<Reply>(() => {}) })
    await expect(adapter({ baseUrl: up.url, timeouts: { get: 60 } }).look({ id: 1 })).rejects.toMatchObject({
      fault: 'timeout',
      message: expect.stringContaining('within 60 ms'),
    })
  })
})
