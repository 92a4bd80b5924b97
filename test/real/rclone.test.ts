import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { rcloneCopy } from '../../examples/rclone.js'
import { missing } from '../servers/program.js'
import { type RcloneServer, startRclone } from '../servers/rclone.js'
import { begin, follow, followTo, overStdio, realWorld } from './support.js'

/* examples/rclone.ts against a real rclone, which knows nothing of us. */

describe.skipIf(missing('rclone', ['rclone'], 'rclone'))('rclone', () => {
  let rclone: RcloneServer
  let to = ''
  let runs = 0
  beforeAll(async () => {
    rclone = await filled(await startRclone())
  })
  afterAll(() => rclone?.close())
  beforeEach(() => {
    to = `target:run-${++runs}`
  })

  const filled = async (server: RcloneServer) => {
    await writeFile(join(server.source, 'film.bin'), Buffer.alloc(4_000_000, 'film'))
    await writeFile(join(server.source, 'notes.txt'), 'cut scene 3')
    return server
  }
  const worldOf = () => realWorld(rcloneCopy(rclone.url, rclone.authorization))
  const slowly = (rate: string) => rclone.rc('core/bwlimit', { rate })

  it('copies files: create, poll, result', async () => {
    const w = await worldOf()
    const taskId = await begin(w, 'copy_files', { from: 'source:', to })
    const { result } = await followTo(w, taskId, 'completed')
    expect(result.result).toMatchObject({ structuredContent: { files: 2, bytes: 4_000_011 } })
    expect(result.result.isError).toBeFalsy()
    expect(readdirSync(join(rclone.target, `run-${runs}`)).sort()).toEqual(['film.bin', 'notes.txt'])
  })

  it('says how far a running copy is', async () => {
    await slowly('500k')
    const w = await worldOf()
    const taskId = await begin(w, 'copy_files', { from: 'source:', to })
    const { result } = await follow(w, taskId, ({ statusMessage }) => /\([1-9]\d?%\)/.test(statusMessage))
    expect(result).toMatchObject({ status: 'working', statusMessage: expect.stringMatching(/files copied, \d+ bytes/) })
    await slowly('off')
    await followTo(w, taskId, 'completed')
  })

  it('cancels a running copy, which rclone then calls failed', async () => {
    await slowly('100k')
    const w = await worldOf()
    const taskId = await begin(w, 'copy_files', { from: 'source:', to })
    await w.cancel(taskId)
    await slowly('off')
    const { result } = await followTo(w, taskId, 'cancelled')
    expect(result.result).toBeUndefined()
  })

  it('tells why a copy failed', async () => {
    const w = await worldOf()
    const taskId = await begin(w, 'copy_files', { from: 'missing:', to })
    const { result } = await followTo(w, taskId, 'completed')
    expect(result.result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: expect.stringContaining('directory not found') }],
    })
  })

  it('tells that a job is unknown, which rclone says with a 500', async () => {
    await slowly('100k')
    const w = await worldOf()
    const taskId = await begin(w, 'copy_files', { from: 'source:', to })
    await followTo(w, taskId, 'working')
    // A restart of rclone forgets its jobs.
    await rclone.close()
    rclone = await filled(await startRclone(Number(new URL(rclone.url).port)))
    const { result } = await followTo(w, taskId, 'failed')
    expect(result.error.message).toContain('no longer exists')
  })

  it('starts nothing outside the configured remotes', async () => {
    const w = await worldOf()
    for (const from of ['/etc', ':local:/etc', 'source:../..', 'source,remote=/etc:']) {
      const { result } = await w.call({ from, to }, {}, 'copy_files')
      expect(result).toMatchObject({ isError: true })
    }
    expect(w.eventsOf('created')).toEqual([])
  })

  it('says that credentials are refused, without a task', async () => {
    const w = await realWorld(rcloneCopy(rclone.url, 'Basic d3Jvbmc6d3Jvbmc='))
    const { result } = await w.call({ from: 'source:', to }, {}, 'copy_files')
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('401') }] })
  })

  it('runs as written, for a desktop host', async () => {
    const env = { RCLONE_URL: rclone.url, RCLONE_AUTHORIZATION: rclone.authorization }
    const { tasks } = await overStdio('rclone.ts', env)
    const execution = await tasks.callTool('copy_files', { from: 'source:', to }, { task: { preference: 'prefer' } })
    expect((await execution.settle()).outcome).toMatchObject({ result: { structuredContent: { files: 2 } } })
  })
})
