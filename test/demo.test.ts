import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { allGone, processesWith, program, root } from './demo/support.js'

const run = promisify(execFile)

let folder = ''
let mark = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-job-tools-test-'))
  mark = `demo-test-${process.pid}-${Date.now()}`
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** A run leaves its mark on all its processes, and has a folder of its own for what it keeps for a while. */
const environment = () => ({ ...process.env, TMPDIR: folder, DEMO_MARK: mark })
const leftFolders = async () => (await readdir(folder)).filter((name) => name.startsWith('mcp-job-tools-demo'))

describe('npm run demo', () => {
  it('tells the story without a terminal, and leaves nothing behind', { timeout: 120_000 }, async () => {
    const { stdout } = await run('npm', ['run', '--silent', 'demo'], { cwd: root, env: environment() })
    const parts = [
      '1. A job from call to result',
      'The call answered at once with task',
      'counting lines (',
      'needs a person',
      'Question: Counted',
      'Answer: yes',
      'completed: the report is ready',
      'Result:',
      '2. A job that outlives its MCP server',
      'The MCP server was just killed',
      'the job server says that it is',
      'A new session takes the same task up',
      'Question: Counted',
      'completed: the report is ready',
      'Two calls made 2 jobs: none was started twice',
      'the same before and after',
    ]
    let at = 0
    for (const part of parts) {
      const found = stdout.indexOf(part, at)
      expect(found, `"${part}" after\n${stdout.slice(0, at)}`).toBeGreaterThanOrEqual(0)
      at = found + part.length
    }
    expect(stdout).not.toContain('\u001b')
    expect(processesWith(mark)).toEqual([])
    expect(await leftFolders()).toEqual([])
  })
})

describe('a demo that is left early', { timeout: 60_000 }, () => {
  /** Starts the demo, and waits until its first job runs. */
  async function underWay(): Promise<{ demo: ChildProcess; ended: Promise<number | null> }> {
    const demo = spawn(process.execPath, program('demo.ts'), { cwd: root, env: environment(), stdio: 'pipe' })
    const ended = new Promise<number | null>((resolve) => demo.once('exit', resolve))
    let seen = ''
    await new Promise<void>((resolve, reject) => {
      demo.stdout.on('data', (chunk) => {
        seen += chunk
        if (seen.includes('counting lines')) resolve()
      })
      void ended.then(() => reject(new Error(`the demo ended: ${seen}`)))
    })
    return { demo, ended }
  }

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('by %s ends everything that it has started', async (signal) => {
    const { demo, ended } = await underWay()
    demo.kill(signal)
    expect(await ended).toBe(130)
    await allGone(mark)
    expect(await leftFolders()).toEqual([])
  })

  it('because nobody reads on ends everything that it has started', async () => {
    const { demo, ended } = await underWay()
    demo.stdout?.destroy()
    expect(await ended).toBe(1)
    await allGone(mark)
    expect(await leftFolders()).toEqual([])
  })

  it('by SIGKILL leaves no process behind', async () => {
    const { demo, ended } = await underWay()
    demo.kill('SIGKILL')
    await ended
    await allGone(mark)
  })
})
