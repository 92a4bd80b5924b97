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
  [
    'swallows its faults',
    {
      get: async () => undefined,
      set: async () => true,
      delete: async () => {
        throw new Error('down')
      },
    },
  ],
  [
    'says false',
    { get: async () => undefined, set: async () => false, delete: () => Promise.reject(new Error('down')) },
  ],
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

describe('what is no store', () => {
  it.each([
    ['text', 'redis://x'],
    ['a number', 7],
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
