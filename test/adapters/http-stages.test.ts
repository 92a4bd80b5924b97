import type { HttpJobDefinition } from 'mcp-job-tools/adapters/http'
import { describe, expect, it } from 'vitest'
import { adapter, type Reply, upstream } from './http-world.js'

/* Jobs of several stages, as Jenkins has them: a queue item first, then a build. */

const queued = {
  when: '$not($exists($ref.build))',
  path: '/queue/item/{ref.queue}/api/json',
  ref: { build: 'executable.number' },
  status: 'cancelled',
  states: { true: 'cancelled' as const, '*': 'working' as const },
  message: 'why',
}
const built = { path: '/job/app/{ref.build}/api/json' }
const jenkins: Partial<HttpJobDefinition> = {
  create: {
    method: 'POST',
    path: '/job/app/buildWithParameters',
    ref: { queue: { header: 'location', match: '/queue/item/(\\d+)' } },
  },
  get: [queued, built],
  status: ['building', 'result'],
  states: {
    'true/*': 'working',
    'false/SUCCESS': 'succeeded',
    'false/ABORTED': 'cancelled',
    'false/*': 'failed',
  },
  message: '"build " & number & (building ? " is running" : " ended")',
  url: 'url',
}
const QUEUE = 'GET /queue/item/7/api/json'
const BUILD = 'GET /job/app/42/api/json'
const waits: Reply = { body: { id: 7, why: 'Waiting for next available executor' } }
const left: Reply = { body: { id: 7, why: null, executable: { number: 42 } } }
const runs: Reply = { body: { number: 42, building: true, result: null } }

describe('a queue item that becomes a build', () => {
  it('is followed from the create to the end', async () => {
    let [queue, build] = [waits, runs]
    const up = await upstream({
      'POST /job/app/buildWithParameters': {
        status: 201,
        headers: { location: 'http://jenkins.inner:8080/queue/item/7/' },
      },
      [QUEUE]: () => queue,
      [BUILD]: () => build,
    })
    const job = adapter({ baseUrl: up.url, ...jenkins })
    const ref = await job.create()
    expect(ref).toEqual({ queue: '7' })
    expect(await job.look(ref)).toEqual({ phase: 'working', message: 'Waiting for next available executor' })
    queue = left
    const moved = await job.look(ref)
    expect(moved).toEqual({ phase: 'working', message: 'build 42 is running', ref: { queue: '7', build: 42 } })
    // Jenkins forgets queue items after five minutes: nobody asks for it any more.
    queue = { status: 404 }
    build = { body: { number: 42, building: false, result: 'SUCCESS' } }
    expect(await job.look({ queue: '7', build: 42 })).toEqual({ phase: 'succeeded', message: 'build 42 ended' })
    expect(up.paths().slice(1)).toEqual([QUEUE, QUEUE, BUILD, BUILD])
  })
  it('may be cancelled in the queue', async () => {
    const up = await upstream({ [QUEUE]: { body: { id: 7, cancelled: true, why: null } } })
    expect(await adapter({ baseUrl: up.url, ...jenkins }).look({ queue: 7 })).toEqual({
      phase: 'cancelled',
      message: 'true',
    })
  })
  it('that is forgotten before its build is known is gone', async () => {
    const up = await upstream({})
    expect(await adapter({ baseUrl: up.url, ...jenkins }).look({ queue: 7 })).toEqual({ phase: 'gone' })
  })
  it('ends at once when the build is over already', async () => {
    const up = await upstream({ [QUEUE]: left, [BUILD]: { body: { number: 42, building: false, result: 'FAILURE' } } })
    expect(await adapter({ baseUrl: up.url, ...jenkins }).look({ queue: 7 })).toEqual({
      phase: 'failed',
      message: 'build 42 ended',
      ref: { queue: 7, build: 42 },
    })
  })

  const unreadable: [string, Reply | undefined][] = [
    ['not there yet', undefined],
    ['broken', { status: 503 }],
    ['unreachable', { hangUp: true }],
    ['refused', { status: 401 }],
  ]
  it.each(unreadable)('goes on, and keeps its new ref, while the build is %s', async (_, build) => {
    const up = await upstream({ [QUEUE]: left, ...(build ? { [BUILD]: build } : {}) })
    const reading = await adapter({ baseUrl: up.url, ...jenkins }).look({ queue: 7 })
    expect(reading).toMatchObject({ phase: 'working', ref: { queue: 7, build: 42 } })
    expect(reading).not.toHaveProperty('questions')
  })
  it('goes on whatever its first stage says of itself by then', async () => {
    const first: object[] = [
      { status: 'status', states: { done: 'working' } },
      { status: 'status', states: { '*': 'succeeded' } },
      { status: '$error("no state here")', states: { '*': 'working' } },
      { status: '"left"', states: { left: 'gone' } },
    ]
    for (const own of first) {
      const up = await upstream({ [QUEUE]: left })
      const get = [{ ...queued, message: undefined, ...own }, built] as HttpJobDefinition['get']
      const { message: _, ...rest } = jenkins
      expect(await adapter({ baseUrl: up.url, ...rest, get }).look({ queue: 7 })).toMatchObject({
        phase: 'working',
        ref: { queue: 7, build: 42 },
      })
    }
  })
  it('goes on, and keeps its new ref, when what the build says cannot be read', async () => {
    const over: Partial<HttpJobDefinition>[] = [
      { status: '$error("x")' },
      { also: { log: { path: '/not/there' } } },
      { get: [queued, { ...built, ref: { run: '$error("x")' } }] },
      { get: [queued, { ...built, path: '/job/{input.missing}/{ref.build}' }] },
    ]
    for (const one of over) {
      const up = await upstream({ [QUEUE]: left, [BUILD]: runs })
      expect(await adapter({ baseUrl: up.url, ...jenkins, ...one }).look({ queue: 7 })).toMatchObject({
        phase: 'working',
        ref: { queue: 7, build: 42 },
      })
      await expect(adapter({ baseUrl: up.url, ...jenkins, ...one }).look({ queue: 7, build: 42 })).rejects.toThrow()
    }
  })
  it('is a fault of the build once only that is read', async () => {
    const up = await upstream({ [BUILD]: { status: 503 } })
    await expect(adapter({ baseUrl: up.url, ...jenkins }).look({ queue: 7, build: 42 })).rejects.toMatchObject({
      status: 503,
      transient: true,
    })
  })
  it('is cancelled where it is', async () => {
    const up = await upstream({
      'POST /queue/cancelItem?id=7': { status: 204 },
      'POST /job/app/42/stop': { status: 302, headers: { location: '/job/app/42/' } },
    })
    const job = adapter({
      baseUrl: up.url,
      ...jenkins,
      cancel: [
        { when: '$exists($ref.build)', method: 'POST', path: '/job/app/{ref.build}/stop', accept: [302] },
        { method: 'POST', path: '/queue/cancelItem', query: { id: '{ref.queue}' } },
      ],
    })
    await job.cancel({ queue: 7 })
    await job.cancel({ queue: 7, build: 42 })
    expect(up.paths()).toEqual(['POST /queue/cancelItem?id=7', 'POST /job/app/42/stop'])
  })
})

describe('stages', () => {
  it('may be three, each with its own words, and further reads are those of the last', async () => {
    const up = await upstream({
      'GET /order/1': { body: { plan: 'p', status: 'planned' } },
      'GET /plan/p': { body: { run: 9, status: 'done' } },
      'GET /run/9': { body: { status: 'running' } },
      'GET /run/9/log': { body: ['one', 'two'] },
    })
    const job = adapter({
      baseUrl: up.url,
      create: { method: 'POST', path: '/order', ref: { order: 'id' } },
      get: [
        { when: '$not($exists($ref.plan))', path: '/order/{ref.order}', ref: { plan: 'plan' } },
        { when: '$not($exists($ref.run))', path: '/plan/{ref.plan}', ref: { run: 'run' } },
        { path: '/run/{ref.run}' },
      ],
      also: { log: { path: '/run/{ref.run}/log' } },
      message: '$string($count($log)) & " lines"',
    })
    expect(await job.look({ order: 1 })).toEqual({
      phase: 'working',
      message: '2 lines',
      ref: { order: 1, plan: 'p', run: 9 },
    })
    expect(up.paths()).toEqual(['GET /order/1', 'GET /plan/p', 'GET /run/9', 'GET /run/9/log'])
  })
  it('stay as they are when the ref grows and the same one still has the word', async () => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'running', worker: 'w-1' } } })
    const job = adapter({ baseUrl: up.url, get: { path: '/jobs/{ref.id}', ref: { worker: 'worker' } } })
    expect(await job.look({ id: 1 })).toEqual({
      phase: 'working',
      message: 'running',
      ref: { id: 1, worker: 'w-1' },
    })
    expect(await job.look({ id: 1, worker: 'w-1' })).toEqual({ phase: 'working', message: 'running' })
    expect(up.seen).toHaveLength(2)
  })
  it('that go in a circle end', async () => {
    let n = 0
    const next = () => ({ body: { n: ++n } })
    const up = await upstream({ 'GET /a': next, 'GET /b': next })
    const get = [
      { when: '$ref.n % 2 = 0', path: '/a', ref: { n: 'n' } },
      { path: '/b', ref: { n: 'n' } },
    ]
    await expect(
      adapter({ baseUrl: up.url, create: { method: 'POST', path: '/x', ref: { n: 'n' } }, get }).look({ n: 0 }),
    ).rejects.toThrow(/follow one another without an end/)
    expect(up.seen.length).toBeLessThan(10)
  })
  it('of which none is meant for the job are an error', async () => {
    const up = await upstream({})
    const get = [{ when: '$exists($ref.never)', path: '/x', ref: { never: 'n' } }]
    await expect(adapter({ baseUrl: up.url, get }).look({ id: 1 })).rejects.toMatchObject({ code: 'unsupported' })
  })
  it('whose `when` fails are a fault', async () => {
    const up = await upstream({})
    await expect(
      adapter({ baseUrl: up.url, get: [{ when: '$error("x")', path: '/x' }] }).look({ id: 1 }),
    ).rejects.toThrow(/failed: x/)
  })
  it('may go by the input and the key as well', async () => {
    const up = await upstream({ 'GET /fast/k-1': { body: { status: 'done' } } })
    const get = [{ when: '$input.fast', path: '/fast/{key}' }, { path: '/slow/{key}' }]
    expect(await adapter({ baseUrl: up.url, get }, { fast: true }).look({ id: 1 })).toMatchObject({
      phase: 'succeeded',
    })
  })
  it('name a new ref even when the last of them is gone', async () => {
    const up = await upstream({ 'GET /jobs/2': { status: 404 } })
    const get = { path: '/jobs/{ref.id}', ref: { next: 'next' } }
    expect(await adapter({ baseUrl: up.url, get }).look({ id: 2 })).toEqual({ phase: 'gone' })
  })
})
