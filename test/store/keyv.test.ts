import Keyv from 'keyv'
import { describe, expect, it } from 'vitest'
import { StoreError } from '../../src/errors/index.js'
import { keyvBackend } from '../../src/store/keyv.js'
import { canList, openBackend } from '../../src/store/open.js'
import type { KeyValue, KeyvAdapterLike } from '../../src/store/types.js'
import { FailingStore } from '../support/failing-store.js'

const now = Date.now
const never = () => new Promise<never>(() => {})

/** Adapters that fail in the ways adapters do. */
const failing: [string, KeyvAdapterLike][] = [
  [
    'throws',
    {
      get: () => Promise.reject(new Error('down')),
      set: () => Promise.reject(new Error('down')),
      delete: () => Promise.reject(new Error('down')),
    },
  ],
  [
    'throws at once',
    {
      get: () => {
        throw new Error('down')
      },
      set: () => {
        throw new Error('down')
      },
      delete: () => {
        throw new Error('down')
      },
    },
  ],
  ['swallows its faults', { get: async () => undefined, set: async () => true, delete: async () => true }],
  ['says false', { get: async () => undefined, set: async () => false, delete: async () => false }],
  ['says nothing', { get: async () => undefined, set: async () => undefined, delete: async () => undefined }],
  ['hangs', { get: never, set: never, delete: never }],
  [
    'gives back rubbish',
    { get: async () => 'rubbish', set: async () => true, delete: () => Promise.reject(new Error('down')) },
  ],
  [
    'gives back a number',
    { get: async () => 7, set: async () => true, delete: () => Promise.reject(new Error('down')) },
  ],
]
const operations: [string, (space: KeyValue) => Promise<unknown>][] = [
  ['get', (space) => space.get('k')],
  ['getMany', (space) => space.getMany(['k', 'l'])],
  ['set', (space) => space.set('k', 'v', null)],
  ['add', (space) => space.add('k', 'v', null)],
  ['delete', (space) => space.delete('k')],
]

describe.each(failing)('an adapter that %s', (_, adapter) => {
  it.each(operations)('makes %s a fault, in time, and never "missing"', async (_name, run) => {
    await expect(run(keyvBackend(adapter, { now, timeoutMs: 50 }).main)).rejects.toBeInstanceOf(StoreError)
  })
})

/** Keeps entries like any adapter, until it swallows every write and every delete. */
class Swallowing implements KeyvAdapterLike {
  swallow = false
  readonly entries = new Map<string, string>()
  get = async (key: string) => this.entries.get(key)
  set = async (key: string, value: string) => {
    if (!this.swallow) this.entries.set(key, value)
    return true
  }
  delete = async (key: string) => (this.swallow ? true : this.entries.delete(key))
}

describe('an adapter that begins to swallow writes', () => {
  it('is found out by every write, and nothing that was there is lost', async () => {
    const adapter = new Swallowing()
    const { main } = keyvBackend(adapter, { now })
    await main.set('k', 'v', null)
    adapter.swallow = true
    for (const run of [
      () => main.set('k', 'other', null),
      () => main.set('new', 'v', null),
      () => main.add('new', 'v', null),
      () => main.delete('k'),
    ]) {
      await expect(run()).rejects.toBeInstanceOf(StoreError)
    }
    expect(await main.get('k')).toBe('v')
    adapter.swallow = false
    await main.delete('k')
    expect(await main.get('k')).toBeUndefined()
  })
  it('can still be rid of an entry that nobody can read', async () => {
    const adapter = new Swallowing()
    adapter.entries.set('mcp-jobs:k', 'rubbish')
    const { main } = keyvBackend(adapter, { now })
    await expect(main.get('k')).rejects.toBeInstanceOf(StoreError)
    await main.delete('k')
    expect(await main.get('k')).toBeUndefined()
  })
})

describe('writers of one process that meet in a slow adapter', () => {
  /** Each call takes another number of turns of the event loop. */
  function uneven(): KeyvAdapterLike {
    const entries = new Map<string, string>()
    let n = 1
    const turns = async () => {
      n = (n * 16_807) % 2_147_483_647
      for (let turn = n % 7; turn > 0; turn--) await new Promise(setImmediate)
    }
    return {
      get: async (key) => {
        await turns()
        return entries.get(key)
      },
      set: async (key, value) => {
        await turns()
        entries.set(key, value)
      },
      delete: async (key) => {
        await turns()
        entries.delete(key)
      },
    }
  }
  it.each(['main', 'soft'] as const)('have exactly one winner (%s)', async (which) => {
    const adapter = uneven()
    const spaces = [keyvBackend(adapter, { now })[which], keyvBackend(adapter, { now })[which]]
    for (let round = 0; round < 20; round++) {
      const won = await Promise.all(
        spaces.flatMap((space, at) => [0, 1, 2].map((n) => space.add(`k${round}`, `${at}${n}`, null))),
      )
      expect(won.filter(Boolean)).toHaveLength(1)
    }
  })
  it('do not take each other for a fault', async () => {
    const { main } = keyvBackend(uneven(), { now })
    await Promise.all(Array.from({ length: 20 }, (_, n) => main.set('k', String(n), null)))
    expect(await main.get('k')).toBe('19')
  })
  it('do not wait without an end behind one that hangs', async () => {
    const entries = new Map<string, string>()
    let hang = true
    const adapter: KeyvAdapterLike = {
      get: async (key) => entries.get(key),
      set: async (key, value) => {
        if (hang) await never()
        entries.set(key, value)
      },
      delete: async (key) => entries.delete(key),
    }
    const { main } = keyvBackend(adapter, { now, timeoutMs: 50 })
    const all = await Promise.allSettled([1, 2, 3, 4].map((n) => main.set('k', String(n), null)))
    expect(all.map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
    expect(all.at(-1)).toMatchObject({ reason: { message: expect.stringContaining('earlier writes of the same key') } })
    hang = false
    await main.set('k', 'after', null)
    expect(await main.get('k')).toBe('after')
  })
})

it("keeps the password of a store's URL out of its fault", async () => {
  const fail = () => Promise.reject(new Error('connect to mongodb://me:s3cr%40t@db:27017/x refused'))
  const { main } = keyvBackend({ get: fail, set: fail, delete: fail }, { now })
  await expect(main.get('k')).rejects.toThrow('connect to mongodb://***@db:27017/x refused')
})

describe('a shared Keyv', () => {
  it("keeps the user's own keys and namespace as they were", async () => {
    const adapter = Object.assign(new FailingStore(), { namespace: undefined as string | undefined, opts: {} })
    const mine = new Keyv({ store: adapter as never, namespace: 'mine' })
    await mine.set('x', 1)
    const namespace = adapter.namespace
    const { main } = await openBackend(mine, { now })
    await main.set('x', 'ours', null)
    await main.get('nothing')
    expect(adapter.namespace).toBe(namespace)
    expect(await mine.get('x')).toBe(1)
    expect(adapter.keys().filter((key) => !key.startsWith('mcp-jobs:'))).toEqual(['mine:x'])
  })
  it("keeps a user's Map free of our entries", async () => {
    const map = new Map<string, unknown>([['x', 1]])
    const { main } = await openBackend(map, { now })
    await main.set('x', 'ours', null)
    expect([...map]).toEqual([['x', 1]])
  })
  it('may be shared by two sets of job tools', async () => {
    const map = new Map<string, unknown>()
    const [one, two] = [await openBackend(map, { now }), await openBackend(map, { now })]
    await one.main.set('a', '1', null)
    expect(await two.main.get('a')).toBe('1')
  })
})

describe('an adapter that keeps parts of its own under `store`', () => {
  it('is used itself', async () => {
    const adapter = Object.assign(new FailingStore(), { opts: {}, hooks: {}, store: [new Map()] })
    const backend = await openBackend(adapter, { now })
    await backend.main.set('x', 'ours', null)
    expect(backend.kind).toBe('keyv')
    expect(adapter.keys()).toContain('mcp-jobs:x')
  })
})

describe('what is no store', () => {
  it.each<[string, unknown]>([
    ['text', 'redis://x'],
    ['a number', 7],
    ['null', null],
    ['a function', () => 1],
    ['a Keyv of something else', { get: () => 1, opts: {}, store: {} }],
    ['an empty object', {}],
    ['half an adapter', { get: () => 1 }],
  ])('(%s) is refused with what to give instead', async (_, input) => {
    await expect(openBackend(input as never, { now })).rejects.toThrow(
      /neither a Keyv instance nor a Keyv storage adapter.*lmdbStore/,
    )
  })
  it('tells which stores can list', () => {
    expect([canList(undefined), canList(new Map()), canList(new FailingStore())]).toEqual([true, true, false])
  })
})
