import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Answer, CreateContext, JobContext, Question } from 'mcp-job-tools'
import { type HttpJobDefinition, type HttpRef, httpJob } from 'mcp-job-tools/adapters/http'
import { afterEach } from 'vitest'
import { createHttpCore } from '../../src/http/index.js'

/* httpJob alone, over real HTTP: a server whose answers are listed, and an adapter with its contexts filled in. */

/** `hangUp`: the connection ends without an answer. */
export type Reply = { status?: number; headers?: Record<string, string>; body?: unknown; hangUp?: boolean }
export type Seen = { method: string; path: string; headers: Record<string, string>; body: unknown }
export type Routes = Record<string, Reply | ((seen: Seen) => Reply | Promise<Reply>)>

const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}

/** A server whose answers are listed by "METHOD /path". */
export async function upstream(routes: Routes) {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const one: Seen = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers as Record<string, string>,
      body: await bodyOf(request),
    }
    seen.push(one)
    const route = routes[`${one.method} ${one.path}`]
    const reply = (typeof route === 'function' ? await route(one) : route) ?? {}
    if (reply.hangUp) {
      request.socket.destroy()
      return
    }
    const { status = route ? 200 : 404, headers = {}, body } = reply
    const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    paths: () => seen.map(({ method, path }) => `${method} ${path}`),
  }
}

/** What a test changes of the contexts. */
export interface Contexts {
  cancelRequested?: boolean
  signal?: AbortSignal
}

/** The adapter of a definition, with its contexts filled in. */
export function adapter(
  definition: Partial<HttpJobDefinition> & { baseUrl: string },
  input: Record<string, unknown> = {},
  { cancelRequested = false, signal = new AbortController().signal }: Contexts = {},
) {
  const job = httpJob({
    create: { method: 'POST', path: '/jobs', id: 'id' },
    get: { path: '/jobs/{ref.id}' },
    status: 'status',
    states: { running: 'working', waiting: 'input_required', done: 'succeeded', error: 'failed' },
    ...definition,
  })
  const core = createHttpCore({ now: Date.now, random: Math.random, retries: 0 })
  open.push(() => core.close())
  const common = { key: 'k-1', signal, now: Date.now, http: core.bind({ signal, timeoutMs: 5_000 }) }
  const create: CreateContext = {
    ...common,
    owner: undefined,
    authInfo: undefined,
    answers: { budget: { action: 'accept', content: { euros: 5 } } },
  }
  const context: JobContext<Record<string, unknown>> = { ...common, input, createdAt: 0, cancelRequested }
  return {
    create: () => job.create(input, create),
    locate: () => job.locate?.(input, create),
    look: async (ref: HttpRef) =>
      job.read(await job.get(ref, context), { ref, key: 'k-1', input, createdAt: 0, now: 0, cancelRequested }),
    result: async (ref: HttpRef) => job.result?.(ref, await job.get(ref, context), context),
    cancel: (ref: HttpRef) => job.cancel?.(ref, context),
    answer: (ref: HttpRef, question: Question, answer: Answer) => job.answer?.(ref, question, answer, context),
    redact: core.redact,
  }
}
