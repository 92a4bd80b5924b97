import type { UpstreamError } from 'mcp-job-tools'
import type { HttpJobDefinition } from 'mcp-job-tools/adapters/http'
import { describe, expect, it } from 'vitest'
import { adapter, type Reply, upstream } from './http-world.js'

/* What an upstream gives back of our credentials is told nowhere, wherever they stood. */

const create = { method: 'POST', path: '/jobs', id: 'id' }

describe('credentials from the environment', () => {
  const secret = 'tok-9f8e7d6c5b'
  const cases: [string, Partial<HttpJobDefinition>][] = [
    ['a header', { headers: { 'x-anything': '{env.HTTP_JOB_SECRET}' } }],
    ['a header with more in it', { headers: { authorization: 'Bearer {env.HTTP_JOB_SECRET}' } }],
    ['a header with input in it', { headers: { 'x-anything': '{input.user}:{env.HTTP_JOB_SECRET}' } }],
    ['the body', { create: { ...create, body: { deep: ['{env.HTTP_JOB_SECRET}'] } } }],
    ['the form', { create: { ...create, form: { anything: '{env.HTTP_JOB_SECRET}' } } }],
    ['the query', { create: { ...create, query: { anything: '{env.HTTP_JOB_SECRET}' } } }],
  ]
  it.each(cases)('in %s are sent, and told nowhere', async (_, over) => {
    // A variable that was read from a file ends in a line feed.
    process.env.HTTP_JOB_SECRET = over.headers ? `${secret}\n` : secret
    const echo: Reply | ((seen: { headers: unknown; body: unknown; path: string }) => Reply) = (seen) => ({
      status: 422,
      body: { message: `bad request: ${JSON.stringify([seen.headers, seen.body, seen.path])}` },
    })
    const up = await upstream({ 'POST /jobs': echo, [`POST /jobs?anything=${secret}`]: echo })
    const job = adapter({ baseUrl: up.url, ...over }, { user: 'me' })
    const error = await job.create().catch((caught: unknown) => caught)
    delete process.env.HTTP_JOB_SECRET
    expect(JSON.stringify(up.seen)).toContain(secret)
    expect((error as Error).message).toContain('bad request')
    expect((error as Error).message).not.toContain(secret)
    expect(JSON.stringify((error as UpstreamError).body)).not.toContain(secret)
    expect(job.redact(`job ${secret}`)).not.toContain(secret)
  })
})
