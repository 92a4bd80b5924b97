import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** A server that a test started. */
export interface RealServer {
  readonly url: string
  /** Its own folder, gone after `close`. */
  readonly folder: string
  /** Ends what was started, and waits until it is gone. */
  close(): Promise<void>
}

/** Where Debian puts servers, which is not on every user's PATH. */
const MORE_FOLDERS = ['/usr/sbin', '/usr/local/sbin']

/** The path of a program, or undefined when it is not installed. */
export function programPath(name: string): string | undefined {
  return [...(process.env.PATH ?? '').split(delimiter), ...MORE_FOLDERS]
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/**
 * Whether a server's tests must be skipped because its programs are missing; says so loudly.
 * @throws Error in CI (`REQUIRE_SERVERS=1`), where nothing may be skipped.
 */
export function missing(server: string, programs: readonly string[], packages: string): boolean {
  const absent = programs.filter((name) => programPath(name) === undefined)
  if (absent.length === 0) return false
  const text = `${server}: not installed (no ${absent.join(', ')}); on Debian: apt-get install ${packages}`
  if (process.env.REQUIRE_SERVERS === '1') throw new Error(text)
  console.warn(`\n*** SKIPPED: the tests of ${text} ***\n`)
  return true
}

/** A new folder for a server. */
export function newFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `mcp-job-tools-${name}-`))
}

/** A port of 127.0.0.1 that is free now, for programs that cannot choose one themselves. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

/** What {@link startServer} starts. */
export interface ServerProgram {
  command: string
  args: string[]
  env?: Record<string, string>
  folder: string
  /** Looks for the server's address in what it has printed so far. Undefined: not ready yet. */
  ready: (printed: string) => string | undefined | Promise<string | undefined>
}

const READY_WITHIN_MS = 20_000
const LOOK_EVERY_MS = 30
const ENDS_WITHIN_MS = 5_000

/** Starts a program and waits until it is ready. @throws Error with what it printed, when it ends or is not ready in time. */
export async function startServer(program: ServerProgram): Promise<RealServer> {
  const { command, args, env = {}, folder, ready } = program
  const child = spawn(programPath(command) ?? command, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      printed += String(chunk)
    })
  }
  let ended: string | undefined
  child.once('error', (error) => {
    ended = String(error)
  })
  child.once('exit', (code, signal) => {
    ended = `it ended with ${signal ?? code}`
  })
  const close = async () => {
    await end(child)
    rmSync(folder, { recursive: true, force: true })
  }
  const until = Date.now() + READY_WITHIN_MS
  while (ended === undefined && Date.now() < until) {
    const url = await ready(printed)
    if (url !== undefined) return { url, folder, close }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
  await close()
  throw new Error(`${command} is not ready: ${ended ?? `nothing within ${READY_WITHIN_MS} ms`}\n${printed}`)
}

/** Ends a process: politely, then not. */
export function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return Promise.resolve()
  return new Promise((resolve) => {
    const force = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS)
    child.once('exit', () => {
      clearTimeout(force)
      resolve()
    })
    child.kill('SIGTERM')
  })
}
