/**
 * An upstream with job ids that really works: each job runs `work.mjs` as a child process. Plain JSON over HTTP with a bearer token, as
 * many job APIs are; it knows nothing of MCP.
 *
 *     POST /jobs { folder }          201 { id }, 422 when there is no such folder in this repository
 *     GET  /jobs                     200 { jobs: [{ id, status }] }
 *     GET  /jobs/{id}                200 { id, status, stage, percent, question, log, report, error }
 *     POST /jobs/{id}/approve        200, 409 when nothing is asked
 *     POST /jobs/{id}/reject         200, 409 when nothing is asked
 *     POST /jobs/{id}/cancel         202, 409 when it is over
 *
 * Run by itself: `PORT=4000 npx tsx examples/demo/job-server.ts` (PORT, JOBS_TOKEN, STAGE_MS).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const WORK = fileURLToPath(new URL('./work.mjs', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LOG_LINES = 20
/** How long a script may take to stop when it is asked to. */
const STOP_MS = 3_000
const REJECTED = 2

interface Job {
  id: string
  status: 'running' | 'waiting' | 'done' | 'failed' | 'cancelled'
  stage: string
  percent: number
  question?: string
  report?: unknown
  error?: string
  log: string[]
}

/** What a job has besides what it shows. */
interface Running {
  job: Job
  child: ChildProcess
  cancelled: boolean
}

const token = process.env.JOBS_TOKEN ?? 'demo-token'
const stageMs = process.env.STAGE_MS ?? '2500'
const jobs = new Map<string, Running>()

/** The folder below this repository, or undefined when there is none: whoever calls must not read elsewhere. */
function folderInside(folder: unknown): string | undefined {
  if (typeof folder !== 'string') return undefined
  const path = relative(ROOT, resolve(ROOT, folder))
  const isFolder = statSync(resolve(ROOT, path), { throwIfNoEntry: false })?.isDirectory() ?? false
  return isFolder && !path.startsWith('..') ? path || '.' : undefined
}

function start(folder: string): Job {
  const child = spawn(process.execPath, [WORK, folder, stageMs], { cwd: ROOT, stdio: ['pipe', 'pipe', 'pipe'] })
  const job: Job = { id: String(101 + jobs.size), status: 'running', stage: 'starting', percent: 0, log: [] }
  const running: Running = { job, child, cancelled: false }
  jobs.set(job.id, running)
  const note = (line: string) => {
    job.log = [...job.log, line].slice(-LOG_LINES)
  }
  createInterface({ input: child.stdout }).on('line', (line) => readLine(job, line, note))
  createInterface({ input: child.stderr }).on('line', note)
  // A decision that comes when the script has just ended is not worth more than that.
  child.stdin.on('error', () => undefined)
  child.on('error', (error) => note(String(error)))
  child.on('close', (code) => {
    delete job.question
    job.status = running.cancelled ? 'cancelled' : code === 0 ? 'done' : 'failed'
    if (job.status !== 'failed') return
    job.error = code === REJECTED ? 'A person rejected it.' : `The script ended with code ${code}: ${job.log.at(-1)}`
  })
  return job
}

/** The script says what it does in JSON, a line each; anything else is its log. */
function readLine(job: Job, line: string, note: (line: string) => void): void {
  const news = parsed(line) as (Partial<Omit<Job, 'log'>> & { log?: string }) | undefined
  if (!news) {
    note(line)
    return
  }
  const { log, question, ...rest } = news
  Object.assign(job, rest)
  if (log) note(log)
  if (question) Object.assign(job, { status: 'waiting', question })
}

function decide({ job, child }: Running, decision: 'approve' | 'reject'): number {
  if (job.status !== 'waiting') return 409
  job.status = 'running'
  delete job.question
  child.stdin?.write(`${decision}\n`)
  return 200
}

function cancel(running: Running): number {
  const { job, child } = running
  if (job.status !== 'running' && job.status !== 'waiting') return 409
  running.cancelled = true
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  child.once('close', () => clearTimeout(force))
  return 202
}

async function bodyOf(request: IncomingMessage): Promise<{ folder?: unknown } | undefined> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return parsed(Buffer.concat(chunks).toString())
}

/** A JSON object, or undefined. */
function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const reply = (status: number, body: unknown) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  if (request.headers.authorization !== `Bearer ${token}`) return reply(401, { message: 'who are you?' })
  const [, root, id, action] = (request.url ?? '').split('/')
  if (root !== 'jobs') return reply(404, { message: 'no such path' })
  if (id === undefined) {
    const list = [...jobs.values()].map(({ job }) => ({ id: job.id, status: job.status }))
    if (request.method === 'GET') return reply(200, { jobs: list })
    const body = await bodyOf(request)
    const folder = folderInside(body?.folder)
    if (folder === undefined) return reply(422, { message: 'folder: there is no such folder in this repository' })
    return reply(201, { id: start(folder).id })
  }
  const running = jobs.get(id)
  if (!running) return reply(404, { message: `there is no job ${id}` })
  if (request.method !== 'POST') return reply(200, running.job)
  const status =
    action === 'cancel' ? cancel(running) : action === 'approve' || action === 'reject' ? decide(running, action) : 404
  reply(status, { id, status: running.job.status })
}

const server = createServer((request, response) => {
  serve(request, response).catch(() => response.writeHead(500).end('{"message":"internal error"}'))
})
server.listen(Number(process.env.PORT ?? 4000), '127.0.0.1', () => {
  console.log(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

// No job outlives its server, and the server does not outlive the demo that started it.
function end(): void {
  for (const { child } of jobs.values()) child.kill('SIGTERM')
  process.exit(0)
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, end)
process.once('disconnect', end)
