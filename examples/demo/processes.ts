import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ENDS_WITHIN_MS = 3_000
const running = new Set<ChildProcess>()

/** A program of the demo, in a process of its own. */
export interface Program {
  /** Where it listens. */
  readonly url: string
  /** Ends it: SIGKILL gives it no chance to tidy up. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

/** Starts one of the demo's programs and waits until it says that it is ready. @throws Error when it ends before. */
export function startProgram(file: string, env: Record<string, string>): Promise<Program> {
  // Not through the tsx command, which would put a process in between: a kill must reach the program itself. The channel tells the
  // program when the demo is gone, however that happened.
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(new URL(file, import.meta.url))], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  running.add(child)
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  void ended.then(() => running.delete(child))
  return new Promise((resolve, reject) => {
    let output = ''
    let errors = ''
    child.stderr?.on('data', (chunk) => {
      errors += chunk
    })
    child.stdout?.on('data', (chunk) => {
      output += chunk
      const url = /ready (\S+)\s/.exec(output)?.[1]
      if (!url) return
      const kill = async (signal: 'SIGTERM' | 'SIGKILL') => {
        child.kill(signal)
        await ended
      }
      resolve({ url, kill })
    })
    void ended.then(() => reject(new Error(`${file} ended before it was ready.\n${errors}`)))
  })
}

/** Ends whatever still runs: politely, then not. */
export async function endPrograms(): Promise<void> {
  await Promise.all(
    [...running].map((child) => {
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
      child.kill('SIGTERM')
      const force = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS)
      return ended.then(() => clearTimeout(force))
    }),
  )
}
