import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/*
 * The job API behind the conformance fixture: a small, honest "create / get / cancel / answer" service over HTTP. The suite then
 * tests how the library follows outside jobs, and not a fixture that plays tasks.
 */

interface Job {
  id: string
  kind: string
  input: Record<string, unknown>
  status: 'running' | 'waiting' | 'done' | 'error' | 'cancelled'
  endsAt: number
  questions: { key: string; message: string; field: string; answer?: unknown }[]
}

const QUESTIONS: Record<string, [key: string, message: string, field: string][]> = {
  confirm: [['confirm', 'Delete the file?', 'confirm']],
  multi: [
    ['name', 'What is your name?', 'name'],
    ['confirm', 'Is that right?', 'confirm'],
  ],
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return chunks.length > 0 ? (JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>) : {}
}

function settle(job: Job): void {
  if (job.status === 'waiting' && job.questions.every((question) => question.answer !== undefined))
    job.status = 'running'
  if (job.status === 'running' && Date.now() >= job.endsAt) job.status = job.kind === 'fail' ? 'error' : 'done'
}

function view(job: Job) {
  const open = job.questions.filter((question) => question.answer === undefined)
  const answers = Object.fromEntries(job.questions.map(({ key, answer }) => [key, answer]))
  return {
    id: job.id,
    status: job.status,
    questions: open,
    output: `${job.kind} ${JSON.stringify({ ...job.input, ...answers })}`,
  }
}

/** Starts the service on a free port. */
export async function startUpstream(): Promise<{ url: string; close: () => Promise<void> }> {
  const jobs = new Map<string, Job>()
  const server: Server = createServer((request, response) => {
    serve(jobs, request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${port}`, close }
}

async function serve(jobs: Map<string, Job>, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const reply = (status: number, body: unknown) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const [, , id, action] = (request.url ?? '').split('/')
  const body = await bodyOf(request)
  if (request.method === 'POST' && id === undefined) {
    const kind = String(body.kind)
    const job: Job = {
      id: String(jobs.size + 1),
      kind,
      input: (body.input ?? {}) as Record<string, unknown>,
      status: QUESTIONS[kind] ? 'waiting' : 'running',
      endsAt: Date.now() + Number(body.seconds ?? 0) * 1000,
      questions: (QUESTIONS[kind] ?? []).map(([key, message, field]) => ({ key, message, field })),
    }
    jobs.set(job.id, job)
    return reply(201, { id: job.id })
  }
  const job = jobs.get(id ?? '')
  // The kind "vanish" is a job that the service forgets: the task behind it must end as `failed`.
  if (!job || (job.kind === 'vanish' && Date.now() >= job.endsAt)) return reply(404, { message: 'no such job' })
  settle(job)
  if (action === 'cancel' && (job.status === 'running' || job.status === 'waiting')) job.status = 'cancelled'
  if (action === 'answer') {
    const question = job.questions.find((asked) => asked.key === body.key)
    if (question) question.answer = body.value
    settle(job)
  }
  reply(200, view(job))
}
