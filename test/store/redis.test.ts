import KeyvRedis from '@keyv/redis'
import Keyv from 'keyv'
import { storeSuite } from 'mcp-job-tools/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StoreError } from '../../src/errors/index.js'
import { canList, openBackend } from '../../src/store/open.js'
import type { StoreInput } from '../../src/store/types.js'
import { missing } from '../servers/program.js'
import { startRedis } from '../servers/redis.js'

const skip = missing('Redis', ['redis-server'], 'redis-server')
let redis: Awaited<ReturnType<typeof startRedis>>
const adapters: KeyvRedis<string>[] = []

/** An adapter whose client stays quiet when its server goes away. */
function adapter(url = redis.url): KeyvRedis<string> {
  const made = new KeyvRedis<string>(url)
  made.client.on('error', () => undefined)
  adapters.push(made)
  return made
}
const flush = async (using: KeyvRedis<string>) => {
  const client = await using.getClient()
  await (client as unknown as { flushAll(): Promise<unknown> }).flushAll()
}

describe.skipIf(skip)('Redis', () => {
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(async () => {
    for (const made of adapters) await made.disconnect(true).catch(() => undefined)
    await redis?.close()
  })

  const wraps: [string, (adapter: KeyvRedis<string>) => StoreInput][] = [
    ['the adapter', (made) => made as never],
    ['a Keyv 5 of it', (made) => new Keyv({ store: made }) as never],
  ]
  describe.each(wraps)('%s', (_, wrap) => {
    for (const { name, run } of storeSuite({
      open: async (clock) => {
        const made = adapter()
        await flush(made)
        return { backend: await openBackend(wrap(made), clock) }
      },
    })) {
      it(name, run)
    }
  })

  it('can list, and leaves the keys of others alone', async () => {
    const made = adapter()
    expect(canList(made as never)).toBe(true)
    const mine = new Keyv({ store: made, namespace: 'mine' })
    await mine.set('job:x', 1)
    const { main, keys } = await openBackend(made as never, { now: Date.now })
    await main.set('job:1', 'v', null)
    const found: string[] = []
    for await (const key of keys?.('job:') ?? []) found.push(key)
    expect(found).toEqual(['job:1'])
    expect(await mine.get('job:x')).toBe(1)
  })

  it('carries messages from process to process', async () => {
    const [one, two] = [
      await openBackend(adapter() as never, { now: Date.now }),
      await openBackend(adapter() as never, { now: Date.now }),
    ]
    const heard: string[] = []
    const stop = await two.bus?.subscribe((message) => heard.push(message))
    await one.bus?.publish('hello')
    await expect.poll(() => heard).toEqual(['hello'])
    await stop?.()
  })

  it('is a fault in time when its server is gone, and works again when it is back', async () => {
    const own = await startRedis()
    const { main } = await openBackend(adapter(own.url) as never, { now: Date.now, timeoutMs: 300 })
    await main.set('a', 'before', null)
    await own.close()
    for (const run of [
      () => main.get('a'),
      () => main.getMany(['a']),
      () => main.set('a', 'b', null),
      () => main.add('c', 'd', null),
      () => main.delete('a'),
    ]) {
      await expect(run()).rejects.toBeInstanceOf(StoreError)
    }
    const again = await startRedis(own.port)
    await expect
      .poll(
        () =>
          main.set('a', 'after', null).then(
            () => 'written',
            () => 'not yet',
          ),
        { timeout: 10_000 },
      )
      .toBe('written')
    expect(await main.get('a')).toBe('after')
    await again.close()
  })

  it('is a fault where another kind of value stands under a key', async () => {
    const made = adapter()
    const client = (await made.getClient()) as unknown as { lPush(key: string, value: string): Promise<unknown> }
    await client.lPush('mcp-jobs:list', 'x')
    const { main } = await openBackend(made as never, { now: Date.now })
    await expect(main.get('list')).rejects.toBeInstanceOf(StoreError)
  })
})
