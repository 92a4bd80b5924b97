import assert from 'node:assert/strict'
import type { Backend, KeyValue } from '../store/types.js'

/** A backend for one check, with nothing in it. */
export interface OpenedStore {
  backend: Backend
  /** Called after the check. */
  close?: () => Promise<void>
}

/** What the suite gives to `open`. */
export interface StoreClock {
  /** Milliseconds since the epoch; the suite moves it, so hand it to your backend. */
  now: () => number
}

/** One check of the contract: run it with any test runner. */
export interface StoreCheck {
  name: string
  run: () => Promise<void>
}

/** How the suite is made. */
export interface StoreSuiteOptions {
  /** Opens an empty backend. */
  open: (clock: StoreClock) => Promise<OpenedStore>
}

type Check = (tools: {
  backend: Backend
  space: KeyValue
  pass: (ms: number) => void
  now: () => number
}) => Promise<void>

/** Contenders for one key. */
const RACERS = 50

/** The contract of one space: `main`, and `soft` alike. */
const SPACE_CHECKS: Record<string, Check> = {
  'says that a missing key is missing': async ({ space }) => {
    assert.equal(await space.get('nothing'), undefined)
  },
  'keeps what is written, and replaces it': async ({ space }) => {
    await space.set('a', 'one', null)
    assert.equal(await space.get('a'), 'one')
    await space.set('a', 'two', null)
    assert.equal(await space.get('a'), 'two')
  },
  'reads many in order, with gaps': async ({ space }) => {
    await space.set('a', '1', null)
    await space.set('c', '3', null)
    assert.deepEqual(await space.getMany(['c', 'b', 'a', 'c']), ['3', undefined, '1', '3'])
    assert.deepEqual(await space.getMany([]), [])
  },
  'adds once': async ({ space }) => {
    assert.equal(await space.add('a', 'first', null), true)
    assert.equal(await space.add('a', 'second', null), false)
    assert.equal(await space.get('a'), 'first')
  },
  'adds again once the first has expired or was deleted': async ({ space, pass, now }) => {
    assert.equal(await space.add('a', 'first', now() + 1_000), true)
    pass(1_000)
    assert.equal(await space.add('a', 'second', null), true)
    assert.equal(await space.get('a'), 'second')
    await space.delete('a')
    assert.equal(await space.add('a', 'third', null), true)
  },
  'deletes, also what is not there': async ({ space }) => {
    await space.set('a', '1', null)
    await space.delete('a')
    await space.delete('a')
    assert.equal(await space.get('a'), undefined)
  },
  'forgets at the very moment of expiry, and not before': async ({ space, pass, now }) => {
    await space.set('a', '1', now() + 1_000)
    pass(999)
    assert.equal(await space.get('a'), '1')
    pass(1)
    assert.equal(await space.get('a'), undefined)
    assert.deepEqual(await space.getMany(['a']), [undefined])
  },
  'takes the last expiry': async ({ space, pass, now }) => {
    await space.set('a', '1', now() + 1_000)
    await space.set('a', '2', null)
    pass(100_000)
    assert.equal(await space.get('a'), '2')
  },
  'keeps every character, and long values': async ({ space }) => {
    const values = ['', ' ', 'ä€😀', '{"a":"\\u0000"}', 'line\nbreak\r\n', 'quote \' " `', 'x'.repeat(100_000)]
    for (const [at, value] of values.entries()) {
      await space.set(`k${at}`, value, null)
      assert.equal(await space.get(`k${at}`), value)
    }
  },
  'keeps neighbours apart': async ({ space }) => {
    const keys = ['a', 'a:', 'a:b', 'A', 'aa', 'a b', 'ä', '__proto__', 'constructor']
    for (const key of keys) await space.set(key, key, null)
    assert.deepEqual(await space.getMany(keys), keys)
    await space.delete('a')
    assert.deepEqual(await space.getMany(keys.slice(1)), keys.slice(1))
  },
}

const MAIN_CHECKS: Record<string, Check> = {
  'has exactly one winner of many that add at a time': async ({ backend, space }) => {
    const won = await Promise.all(Array.from({ length: RACERS }, (_, at) => space.add('race', String(at), null)))
    const winners = won.flatMap((mine, at) => (mine ? [String(at)] : []))
    if (backend.atomic) assert.equal(winners.length, 1)
    else assert.ok(winners.length <= 1)
    if (winners.length === 1) assert.equal(await space.get('race'), winners[0])
  },
  'keeps main and soft apart or alike, but never mixes their keys up': async ({ backend }) => {
    await backend.main.set('only-main', 'm', null)
    await backend.soft.set('only-soft', 's', null)
    assert.equal(await backend.main.get('only-main'), 'm')
    assert.equal(await backend.soft.get('only-soft'), 's')
  },
  'lists the live keys of a prefix, taken literally': async ({ backend, space, pass, now }) => {
    if (!backend.keys) return
    const inside = ['p*:1', 'p*:2', 'p*:%', 'p*:_x']
    const outside = ['p:1', 'pp:1', 'q*:1', 'P*:1', 'p*']
    for (const key of [...inside, ...outside]) await space.set(key, 'v', null)
    await space.set('p*:gone', 'v', now() + 10)
    pass(10)
    const found: string[] = []
    for await (const key of backend.keys('p*:')) found.push(key)
    assert.deepEqual(found.sort(), inside.sort())
    for (const prefix of ['p%:', 'p_:', 'p[*]:', 'p?:', 'p\\*:']) {
      for await (const key of backend.keys(prefix)) assert.fail(`${key} does not begin with ${prefix}`)
    }
  },
  'can be closed twice': async ({ backend }) => {
    await backend.close()
    await backend.close()
  },
}

/**
 * The contract that every store must keep, as checks for any test runner:
 *
 * ```ts
 * for (const { name, run } of storeSuite({ open })) test(name, run)
 * ```
 */
export function storeSuite({ open }: StoreSuiteOptions): StoreCheck[] {
  const check = (name: string, which: 'main' | 'soft', body: Check): StoreCheck => ({
    name: `${which}: ${name}`,
    run: async () => {
      let time = Date.now()
      const now = () => time
      const pass = (ms: number) => {
        time += ms
      }
      const { backend, close } = await open({ now })
      try {
        await body({ backend, space: backend[which], now, pass })
      } finally {
        await close?.()
      }
    },
  })
  return [
    ...(['main', 'soft'] as const).flatMap((which) =>
      Object.entries(SPACE_CHECKS).map(([name, body]) => check(name, which, body)),
    ),
    ...Object.entries(MAIN_CHECKS).map(([name, body]) => check(name, 'main', body)),
  ]
}
