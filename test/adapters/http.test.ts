import { describe, expect, it } from 'vitest'
import { adapter, upstream } from './http-world.js'

/* httpJob alone, over real HTTP: what its requests hold, and how a job is cancelled and found. */

describe('a request', () => {
  it('sends body, query, headers and forms as described, with types kept and absent values dropped', async () => {
    const up = await upstream({ 'POST /jobs?tag=a&tag=b': { body: { id: 1 } }, 'POST /form': { body: { id: 2 } } })
    const input = { n: 7, list: ['a', 'b'], deep: { x: null } }
    const create = {
      method: 'POST',
      path: '/jobs',
      query: { tag: '{input.list}', gone: '{input.gone}' },
      headers: { 'idempotency-key': '{key}' },
      body: { n: '{input.n}', text: 'n is {input.n}', all: '{input}', gone: '{input.gone}', ask: '{ask.budget.euros}' },
      id: 'id',
    }
    await adapter({ baseUrl: up.url, create }, input).create()
    expect(up.seen[0]).toMatchObject({
      headers: { 'idempotency-key': 'k-1' },
      body: { n: 7, text: 'n is 7', all: input, ask: 5 },
    })
    expect(up.seen[0]?.body).not.toHaveProperty('gone')
    await adapter(
      {
        baseUrl: up.url,
        create: { method: 'POST', path: '/form', form: { a: '{input.n}', gone: '{input.gone}' }, id: 'id' },
      },
      input,
    ).create()
    expect(up.seen[1]).toMatchObject({
      body: 'a=7',
      headers: { 'content-type': expect.stringContaining('x-www-form-urlencoded') },
    })
  })

  it('picks the request whose `when` holds', async () => {
    const up = await upstream({ 'POST /big': { body: { id: 'big' } }, 'POST /small': { body: { id: 'small' } } })
    const create = [
      { method: 'POST', path: '/big', when: '$input.size > 10', id: 'id' },
      { method: 'POST', path: '/small', id: 'id' },
    ]
    expect(await adapter({ baseUrl: up.url, create }, { size: 11 }).create()).toEqual({ id: 'big' })
    expect(await adapter({ baseUrl: up.url, create }, { size: 1 }).create()).toEqual({ id: 'small' })
  })
})

describe('cancel', () => {
  it('picks queue or build', async () => {
    const up = await upstream({ 'POST /queue/7/cancel': { status: 204 }, 'POST /build/42/stop': { status: 204 } })
    const cancel = [
      { method: 'POST', path: '/build/{ref.build}/stop', when: '$exists($ref.build)' },
      { method: 'POST', path: '/queue/{ref.queue}/cancel' },
    ]
    const a = adapter({
      baseUrl: up.url,
      create: { method: 'POST', path: '/x', ref: { queue: 'q', build: 'b' } },
      get: { path: '/queue/{ref.queue}' },
      cancel,
    })
    await a.cancel({ queue: 7 })
    await a.cancel({ queue: 7, build: 42 })
    expect(up.paths()).toEqual(['POST /queue/7/cancel', 'POST /build/42/stop'])
  })
  it('is refused as the upstream says, unless the status is accepted', async () => {
    const up = await upstream({ 'DELETE /jobs/1': { status: 409, body: { message: 'over' } } })
    await expect(
      adapter({ baseUrl: up.url, cancel: { method: 'DELETE', path: '/jobs/{ref.id}' } }).cancel({ id: 1 }),
    ).rejects.toMatchObject({ status: 409 })
    await adapter({ baseUrl: up.url, cancel: { method: 'DELETE', path: '/jobs/{ref.id}', accept: [409] } }).cancel({
      id: 1,
    })
  })
})

describe('locate', () => {
  it('finds the job, or cannot tell', async () => {
    let jobs: unknown[] = []
    const up = await upstream({ 'GET /jobs?key=k-1': () => ({ body: { jobs } }) })
    const a = adapter({ baseUrl: up.url, locate: { path: '/jobs', query: { key: '{key}' }, id: 'jobs[0].id' } })
    expect(await a.locate()).toBeUndefined()
    jobs = [{ id: 3 }]
    expect(await a.locate()).toEqual({ id: 3 })
  })
})
