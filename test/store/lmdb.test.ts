import { spawn } from 'node:child_process'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Keyv from 'keyv'
import { afterEach, describe, expect, it } from 'vitest'
import { StoreError } from '../../src/errors/index.js'
import { lmdbStore } from '../../src/store/lmdb.js'
import { BACKEND } from '../../src/store/types.js'

const folders: string[] = []
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})
async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'mcp-job-tools-'))
  folders.push(made)
  return made
}

/** A process that writes to the file; its lines arrive as they come. */
function writer(mode: 'claim' | 'write', path: string) {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', fileURLToPath(new URL('../support/lmdb-writer.ts', import.meta.url)), mode, path],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const lines: string[] = []
  let rest = ''
  child.stdout.on('data', (chunk) => {
    const parts = (rest + String(chunk)).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
  return { child, lines, ended: new Promise<void>((resolve) => child.once('close', () => resolve())) }
}

describe('lmdbStore', () => {
  it('has exactly one winner per key among three processes', async () => {
    const path = join(await folder(), 'jobs.lmdb')
    const writers = [writer('claim', path), writer('claim', path), writer('claim', path)]
    await Promise.all(writers.map(({ ended }) => ended))
    const won = writers.map(({ lines }) => lines.filter((line) => line.startsWith('won ')))
    expect(won.flat()).toHaveLength(200)
    expect(new Set(won.flat()).size).toBe(200)
  })

  it('loses no acknowledged write to SIGKILL, and the next writer is not blocked', async () => {
    const path = join(await folder(), 'jobs.lmdb')
    const { child, lines, ended } = writer('write', path)
    await expect.poll(() => lines.length, { timeout: 15_000 }).toBeGreaterThan(100)
    child.kill('SIGKILL')
    await ended
    const backend = await lmdbStore({ path })[BACKEND]()
    const written = lines.map((line) => line.slice('wrote '.length))
    const values = await backend.main.getMany(written)
    expect(values.filter((value) => value === undefined)).toEqual([])
    await backend.main.set('after', 'x', null)
    expect(await backend.main.get('after')).toBe('x')
    await backend.close()
  })

  it('drops what has expired, in steps, along with later writes', async () => {
    const path = join(await folder(), 'jobs.lmdb')
    let time = 1_000_000
    const backend = await lmdbStore({ path, now: () => time })[BACKEND]()
    const fill = () =>
      Promise.all(
        Array.from({ length: 1_000 }, (_, at) => backend.main.set(`k${at}-${time}`, 'x'.repeat(500), time + 1_000)),
      )
    const sizes: number[] = []
    for (let round = 0; round < 5; round++) {
      await fill()
      time += 10_000
      for (let n = 0; n < 10; n++) await backend.main.set('tick', 'x', null)
      sizes.push((await stat(path)).size)
    }
    const left: string[] = []
    for await (const key of backend.keys?.('') ?? []) left.push(key)
    expect(left).toEqual(['tick'])
    expect(sizes.at(-1)).toBeLessThan((sizes[0] ?? 0) * 3)
    await backend.close()
  })

  it('says what is wrong and what to do when it cannot be opened', async () => {
    const file = join(await folder(), 'a-file')
    await writeFile(file, 'no folder')
    const opening = lmdbStore({ path: join(file, 'jobs.lmdb') })[BACKEND]()
    await expect(opening).rejects.toBeInstanceOf(StoreError)
    await expect(opening).rejects.toThrow(
      /LMDB at .*jobs\.lmdb could not be opened \(is .*a-file a folder that this user may write to\?\)/,
    )
  })

  it('refuses a key that LMDB cannot hold', async () => {
    const backend = await lmdbStore({ path: join(await folder(), 'jobs.lmdb') })[BACKEND]()
    await expect(backend.main.get('k'.repeat(5_000))).rejects.toBeInstanceOf(StoreError)
    await expect(backend.main.set('k'.repeat(5_000), 'v', null)).rejects.toBeInstanceOf(StoreError)
    await backend.close()
  })

  it('is a Keyv adapter as well, whose entries never meet the tasks', async () => {
    const store = lmdbStore({ path: join(await folder(), 'jobs.lmdb') })
    const keyv = new Keyv({ store: store as never, namespace: 'cache' })
    await keyv.set('a', { n: 1 })
    await keyv.set('b', 2, 60_000)
    expect(await keyv.get('a')).toEqual({ n: 1 })
    expect(await keyv.has('b')).toBe(true)
    expect(await keyv.getMany(['a', 'b', 'c'])).toEqual([{ n: 1 }, 2, undefined])
    const { main } = await store[BACKEND]()
    await main.set('a', 'a task', null)
    expect(await keyv.delete('b')).toBe(true)
    await keyv.clear()
    expect(await keyv.get('a')).toBeUndefined()
    expect(await main.get('a')).toBe('a task')
    await keyv.disconnect()
  })
})
