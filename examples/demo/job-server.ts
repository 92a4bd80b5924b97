/**
 * An upstream with job ids that really works: each job runs `work.mjs` as a child process. Plain JSON over HTTP with a bearer token, as
 * many job APIs are; it knows nothing of MCP.
 *
 *     POST /jobs { folder }          201 { id }
 *     GET  /jobs                     200 { jobs: [{ id, status }] }
 *     GET  /jobs/{id}                200 { id, status, stage, percent, question, log, report }
 *     POST /jobs/{id}/approve        200, 409 when nothing is asked
 *     POST /jobs/{id}/reject         200, 409 when nothing is asked
 *     POST /jobs/{id}/cancel         202, 409 when it is over
 *
 * Run by itself: `npx tsx examples/demo/job-server.ts` (PORT, JOBS_TOKEN, STAGE_MS).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const WORK = fileURLToPath(new URL('./work.mjs', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LOG_LINES = 20

interface Job {
  id: string
  status: 'running' | 'waiting' | 'done' | 'failed' | 'cancelled'
  stage: string
  percent: number
  question?: string
  report?: unknown
  error?: string
  log: string[]
  child: ChildProcess
  cancelled: boolean
}

const token = process.env.JOBS_TOKEN ?? 'demo-token'
const stageMs = process.env.STAGE_MS ?? '2500'
const jobs = new Map<string, Job>()

function start(folder: string): Job {
  const child = spawn(process.execPath, [WORK, folder, stageMs], { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] })
  const id = String(101 + jobs.size)
  const job: Job = { id, status: 'running', stage: 'starting', percent: 0, log: [], child, cancelled: false }
  jobs.set(id, job)
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { log, question, ...news } = JSON.parse(line) as { log?: string; question?: string } & Partial<Job>
    Object.assign(job, news)
    if (log) job.log = [...job.log, log].slice(-LOG_LINES)
    if (question) Object.assign(job, { status: 'waiting', question })
  })
  child.on('close', (code) => {
    job.status = job.cancelled ? 'cancelled' : code === 0 ? 'done' : 'failed'
    if (job.status === 'failed')
      job.error = code === 2 ? 'A person rejected it.' : `The script ended with code ${code}.`
  })
  return job
}

function decide(job: Job, decision: 'approve' | 'reject'): number {
  if (job.status !== 'waiting') return 409
  job.status = 'running'
  delete job.question
  job.child.stdin?.write(`${decision}\n`)
  return 200
}

function cancel(job: Job): number {
  if (job.status !== 'running' && job.status !== 'waiting') return 409
  job.cancelled = true
  job.child.kill('SIGTERM')
  return 202
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const reply = (status: number, body: unknown) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  if (request.headers.authorization !== `Bearer ${token}`) return reply(401, { message: 'who are you?' })
  const [, root, id, action] = (request.url ?? '').split('/')
  if (root !== 'jobs') return reply(404, { message: 'no such path' })
  if (id === undefined) {
    if (request.method === 'GET')
      return reply(200, { jobs: [...jobs.values()].map(({ id, status }) => ({ id, status })) })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { folder = 'src' } = JSON.parse(Buffer.concat(chunks).toString() || '{}') as { folder?: string }
    return reply(201, { id: start(folder).id })
  }
  const job = jobs.get(id)
  if (!job) return reply(404, { message: `there is no job ${id}` })
  if (request.method === 'POST') {
    const status =
      action === 'cancel' ? cancel(job) : action === 'approve' || action === 'reject' ? decide(job, action) : 404
    return reply(status, { id, status: job.status })
  }
  const { child: _, cancelled: __, ...state } = job
  reply(200, state)
}

const server = createServer((request, response) => {
  serve(request, response).catch(() => response.writeHead(500).end('{"message":"internal error"}'))
})
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
// No job outlives its server.
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    for (const { child } of jobs.values()) child.kill('SIGTERM')
    process.exit(0)
  })
}
