import KeyvRedis from '@keyv/redis'
import { faultyUpstream } from 'mcp-job-tools/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { missing } from '../servers/program.js'
import { startRedis } from '../servers/redis.js'
import { listen } from '../support/listen.js'
import { closing, world } from '../support/world.js'

const skip = missing('Redis', ['redis-server'], 'redis-server')
let redis: Awaited<ReturnType<typeof startRedis>>
const realTime = {
  get now() {
    return Date.now()
  },
  set now(_: number) {},
}

function store(bus = true) {
  const adapter = new KeyvRedis<string>(redis.url)
  adapter.client.on('error', () => undefined)
  closing(() => adapter.disconnect(true).catch(() => undefined))
  if (bus) return adapter as never
  // A client that cannot be duplicated cannot subscribe: as if pub/sub were cut.
  const client = { eval: true, publish: true, scanIterator: true }
  return { client, getClient: () => adapter.getClient(), get() {}, set() {}, delete() {} } as never
}

describe.skipIf(skip)('two replicas on one Redis', () => {
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis?.close())

  it('tell each other: an end that one sees reaches the listener of the other long before its next look', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const policy = { pollIntervalMs: 60_000, minPollIntervalMs: 20 }
    const [a, b] = [
      await world({ up, policy, clock: realTime, options: { store: store() } }),
      await world({ up, policy, clock: realTime, options: { store: store() } }),
    ]
    const taskId = await a.start()
    const { next } = await listen(b.url, { taskIds: [taskId] })
    await next()
    expect((await next()).params.status).toBe('working')
    up.setState('1', { status: 'done', output: 'x' })
    // The cancel makes a look due at once; the job is over before it.
    await a.cancel(taskId)
    await a.get(taskId)
    expect((await next()).params.status).toBe('completed')
  })

  it('notice each other within an interval when no message comes through', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const policy = { pollIntervalMs: 300, minPollIntervalMs: 20 }
    const [a, b] = [
      await world({ up, policy, clock: realTime, options: { store: store() } }),
      await world({ up, policy, clock: realTime, options: { store: store(false) } }),
    ]
    const taskId = await a.start()
    const { next } = await listen(b.url, { taskIds: [taskId] })
    await next()
    expect((await next()).params.status).toBe('working')
    up.setState('1', { status: 'done', output: 'x' })
    await a.until(taskId, 'completed')
    expect((await next()).params.status).toBe('completed')
  })

  it('read the upstream at most once per interval, end each task once, and answer and cancel once', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const clock = { now: Date.now() }
    const replicas = [
      await world({ up, clock, options: { store: store() } }),
      await world({ up, clock, options: { store: store() } }),
      await world({ up, clock, options: { store: store() } }),
    ]
    const any = () => replicas[Math.floor(Math.random() * replicas.length)] as (typeof replicas)[number]
    const tasks = await Promise.all(Array.from({ length: 30 }, () => any().start()))
    const rounds = 6
    for (let round = 0; round < rounds; round++) {
      await Promise.all(tasks.flatMap((taskId) => [any().get(taskId), any().get(taskId)]))
      clock.now += 5_000
    }
    const gets = () => up.requests.filter(({ method }) => method === 'GET').length
    expect(gets()).toBeLessThanOrEqual(tasks.length * rounds)
    for (const id of up.jobs.keys()) up.setState(id, { status: 'done', output: id })
    const ends = await Promise.all(
      tasks.map(async (taskId) => [await any().get(taskId), await any().get(taskId), await any().get(taskId)]),
    )
    clock.now += 60_000
    for (const [at, taskId] of tasks.entries()) {
      const seen = [...(ends[at] ?? []), ...(await Promise.all(replicas.map((replica) => replica.get(taskId))))].filter(
        ({ result }) => result.status === 'completed',
      )
      expect(new Set(seen.map(({ result }) => JSON.stringify([result.lastUpdatedAt, result.result]))).size).toBe(1)
    }
    const ended = replicas.flatMap((replica) => replica.eventsOf('ended'))
    expect(ended).toHaveLength(tasks.length)
  })
})
