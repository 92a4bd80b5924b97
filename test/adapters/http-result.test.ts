import type { HttpJobDefinition } from 'mcp-job-tools/adapters/http'
import { describe, expect, it } from 'vitest'
import { adapter, upstream } from './http-world.js'

/* What an ended job gave, over real HTTP. */

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
