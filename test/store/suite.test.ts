import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Keyv from 'keyv'
import { type StoreClock, storeSuite } from 'mcp-job-tools/testing'
import { describe, it } from 'vitest'
import { lmdbStore } from '../../src/store/lmdb.js'
import { openBackend } from '../../src/store/open.js'
import type { StoreInput } from '../../src/store/types.js'
import { FailingStore } from '../support/failing-store.js'

const over = (make: (clock: StoreClock) => StoreInput | undefined) => async (clock: StoreClock) => ({
  backend: await openBackend(make(clock), clock),
})

async function lmdb(clock: StoreClock, wrap: (store: ReturnType<typeof lmdbStore>) => StoreInput = (store) => store) {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-job-tools-'))
  const backend = await openBackend(wrap(lmdbStore({ path: join(folder, 'jobs.lmdb'), now: clock.now })), clock)
  return {
    backend,
    close: async () => {
      await backend.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Keyv 6 needs Node 22: on older ones its tests cannot run. */
const keyv6 = await import('keyv6').catch(() => undefined)
if (!keyv6) console.warn(`SKIPPED: the tests of Keyv 6, which does not load on Node ${process.version}`)

const backends: [
  string,
  (clock: StoreClock) => Promise<{ backend: Awaited<ReturnType<typeof openBackend>>; close?: () => Promise<void> }>,
][] = [
  ['memory', over(() => undefined)],
  ["a Map of the user's", over(() => new Map())],
  ['any Keyv adapter', over(() => new FailingStore())],
  ['Keyv 5 over a Map', over(() => new Keyv({ store: new Map() }))],
  ['Keyv 5 over an adapter', over(() => new Keyv({ store: new FailingStore() as never }))],
  ['LMDB', (clock) => lmdb(clock)],
  ['LMDB inside Keyv 5', (clock) => lmdb(clock, (store) => new Keyv({ store: store as never }))],
  ...(keyv6
    ? ([
        ['Keyv 6', over(() => new keyv6.default() as never)],
        ['Keyv 6 over an adapter', over(() => new keyv6.default({ store: new FailingStore() as never }) as never)],
        [
          'LMDB inside Keyv 6',
          (clock) => lmdb(clock, (store) => new keyv6.default({ store: store as never }) as never),
        ],
      ] as [string, (clock: StoreClock) => ReturnType<typeof lmdb>][])
    : []),
]

describe.each(backends)('%s', (_, open) => {
  for (const { name, run } of storeSuite({ open })) it(name, run)
})
