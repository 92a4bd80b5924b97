import KeyvPostgres from '@keyv/postgres'
import Keyv from 'keyv'
import { storeSuite } from 'mcp-job-tools/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StoreError } from '../../src/errors/index.js'
import { openBackend } from '../../src/store/open.js'
import { hasPostgres, startPostgres } from '../servers/postgres.js'
import { missing, type RealServer } from '../servers/program.js'

const skip = hasPostgres() ? false : missing('PostgreSQL', ['initdb', 'postgres'], 'postgresql')
let server: RealServer
let adapter: KeyvPostgres

describe.skipIf(skip)('PostgreSQL', () => {
  beforeAll(async () => {
    server = await startPostgres()
    adapter = new KeyvPostgres({ uri: server.url })
    adapter.on('error', () => undefined)
  })
  afterAll(async () => {
    await adapter?.disconnect()
    await server?.close()
  })

  for (const { name, run } of storeSuite({
    open: async (clock) => {
      await adapter.query('DROP TABLE IF EXISTS mcp_job_tools')
      return { backend: await openBackend(adapter as never, clock) }
    },
  })) {
    it(name, run)
  }

  it("keeps the user's own entries as they were", async () => {
    const mine = new Keyv({ store: adapter, namespace: 'mine' })
    await mine.set('x', { n: 1 })
    const { main } = await openBackend(mine as never, { now: Date.now })
    await main.set('x', 'ours', null)
    expect(await mine.get('x')).toEqual({ n: 1 })
  })

  it('drops what has expired along with later writes', async () => {
    let time = Date.now()
    const { main } = await openBackend(adapter as never, { now: () => time })
    for (let n = 0; n < 20; n++) await main.set(`old-${n}`, 'v', time + 10)
    time += 120_000
    await main.set('new', 'v', null)
    await expect
      .poll(async () => (await adapter.query("SELECT count(*) AS n FROM mcp_job_tools WHERE key LIKE 'old-%'"))[0]?.n)
      .toBe('0')
  })

  it('carries messages from process to process', async () => {
    const [one, two] = [
      await openBackend(adapter as never, { now: Date.now }),
      await openBackend(adapter as never, { now: Date.now }),
    ]
    const heard: string[] = []
    const stop = await two.bus?.subscribe((message) => heard.push(message))
    await one.bus?.publish('hello')
    await expect.poll(() => heard).toEqual(['hello'])
    await stop?.()
  })

  it('is a fault in time, never "missing", while its server does not answer, and works again after', async () => {
    const { main } = await openBackend(adapter as never, { now: Date.now, timeoutMs: 300 })
    await main.set('a', 'v', null)
    const driver = 'pg'
    const { default: pg } = await import(driver)
    const locker = new pg.Client({ connectionString: server.url })
    await locker.connect()
    await locker.query('BEGIN; LOCK TABLE mcp_job_tools IN ACCESS EXCLUSIVE MODE')
    for (const run of [
      () => main.get('a'),
      () => main.set('a', 'b', null),
      () => main.add('c', 'd', null),
      () => main.delete('z'),
    ]) {
      await expect(run()).rejects.toBeInstanceOf(StoreError)
    }
    await locker.query('ROLLBACK')
    await locker.end()
    await expect.poll(() => main.get('a')).toMatch(/^[vb]$/)
  })
})
