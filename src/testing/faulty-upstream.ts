import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the upstream answers: a JSON value (with 200), or this. */
export interface ScriptedAnswer {
  status?: number
  headers?: Record<string, string>
  /** JSON, unless it is text or bytes. */
  body?: unknown
  /** Waits this long before answering, in milliseconds. */
  delayMs?: number
  /** Never answers; the socket stays open. */
  hang?: boolean
  /** Cuts the connection: before anything is sent, or in the middle of the body. */
  cut?: 'before' | 'body'
  /** For a create: the job is made although the answer is not what it should be. Default: only when the status is 2xx. */
  makesJob?: boolean
}

/** An answer, or a function that gives it when the request comes. */
export type Answering = ScriptedAnswer | ((request: SeenRequest) => ScriptedAnswer | Promise<ScriptedAnswer>)

/** A request as the upstream saw it. */
export interface SeenRequest {
  readonly method: string
  /** Path and query, as sent. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Parsed JSON, or text. */
  readonly body: unknown
}

/** A job of the upstream. */
export interface UpstreamJob {
  readonly id: string
  /** What `create` was sent. */
  readonly input: unknown
  /** What `GET /jobs/{id}` answers; a test may change it. */
  state: Record<string, unknown>
}

type Operation = 'create' | 'get' | 'cancel' | 'answer' | 'result' | 'locate'

/** The upstream, as a test steers it. */
export interface FaultyUpstream {
  readonly url: string
  /** Scripted answers by operation: used up one by one, the last one stays. Empty: the default behaviour. */
  readonly script: Record<Operation, Answering[]>
  /** Every request so far, in order. */
  readonly requests: SeenRequest[]
  readonly jobs: Map<string, UpstreamJob>
  /** How many requests there were with this method and (whole) path; `*` in the path stands for one segment. */
  count(method: string, path: string): number
  /** Merges members into a job's state. @throws Error for an unknown job. */
  setState(id: string, state: Record<string, unknown>): void
  /** Forgets a job: from now on it is 404. */
  forget(id: string): void
  /** Resolves once the predicate holds; looked at after each request. */
  waitFor(predicate: (upstream: FaultyUpstream) => boolean): Promise<void>
  /** Ends the server and every connection. */
  close(): Promise<void>
}

const OPERATIONS: [operation: Operation, method: string, path: RegExp][] = [
  ['locate', 'GET', /^\/jobs(\?|$)/],
  ['create', 'POST', /^\/jobs$/],
  ['cancel', 'POST', /^\/jobs\/[^/?]+\/cancel$/],
  ['answer', 'POST', /^\/jobs\/[^/?]+\/answer$/],
  ['result', 'GET', /^\/jobs\/[^/?]+\/result$/],
  ['get', 'GET', /^\/jobs\/[^/?]+$/],
]

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}

function matches(pattern: string, path: string): boolean {
  const parts = path.split('?', 1)[0]?.split('/') ?? []
  const wanted = pattern.split('/')
  return parts.length === wanted.length && wanted.every((part, at) => part === '*' || part === parts[at])
}

/**
 * A real HTTP job server on a free port of 127.0.0.1, for tests of adapters and of everything that follows jobs. By default it
 * behaves: `POST /jobs` makes a job (201 `{ id }`, its `key` member kept), `GET /jobs/{id}` answers its state (`{ id, status:
 * "running" }` at first), `POST /jobs/{id}/cancel` and `/answer` change it, `GET /jobs/{id}/result` answers `{ output }`, `GET
 * /jobs?key=K` finds it again. `script` makes any operation misbehave.
 */
export async function faultyUpstream(): Promise<FaultyUpstream> {
  const jobs = new Map<string, UpstreamJob>()
  const requests: SeenRequest[] = []
  const script: Record<Operation, Answering[]> = { create: [], get: [], cancel: [], answer: [], result: [], locate: [] }
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen: SeenRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers as Record<string, string>,
      body: await readBody(request),
    }
    requests.push(seen)
    for (const look of waiting) look()
    const operation = OPERATIONS.find(([, method, path]) => method === seen.method && path.test(seen.path))?.[0]
    const scripted = operation && nextOf(script[operation])
    const given = typeof scripted === 'function' ? await scripted(seen) : scripted
    if (given?.delayMs) await new Promise((resolve) => setTimeout(resolve, given.delayMs))
    const fallback = operation ? behave(operation, seen, given) : { status: 404, body: { message: 'no such path' } }
    for (const look of waiting) look()
    send(
      response,
      given ? { ...(operation === 'create' && given.status === undefined ? fallback : {}), ...given } : fallback,
    )
    for (const look of waiting) look()
  }

  function behave(operation: Operation, seen: SeenRequest, given: ScriptedAnswer | undefined): ScriptedAnswer {
    if (operation === 'create') {
      const good = given?.status === undefined ? given?.cut === undefined && !given?.hang : given.status < 300
      if (!(given?.makesJob ?? good)) return {}
      const id = String(jobs.size + 1)
      jobs.set(id, { id, input: seen.body, state: { id, status: 'running' } })
      return { status: 201, body: { id } }
    }
    if (operation === 'locate') {
      const key = new URL(seen.path, 'http://localhost').searchParams.get('key')
      const found = [...jobs.values()].find((job) => (job.input as { key?: unknown } | undefined)?.key === key)
      return { body: { jobs: found ? [{ id: found.id }] : [] } }
    }
    const job = jobs.get(decodeURIComponent(seen.path.split('/')[2]?.split('?')[0] ?? ''))
    if (!job) return { status: 404, body: { message: 'no such job' } }
    if (given) return {}
    if (operation === 'cancel' && job.state.status !== 'done') job.state = { ...job.state, status: 'cancelled' }
    if (operation === 'answer') job.state = { ...job.state, status: 'running', questions: [], answered: seen.body }
    if (operation === 'result') return { body: { output: job.state.output ?? 'the output' } }
    return { body: operation === 'get' ? job.state : {} }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const upstream: FaultyUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    script,
    requests,
    jobs,
    count: (method, path) => requests.filter((seen) => seen.method === method && matches(path, seen.path)).length,
    setState: (id, state) => {
      const job = jobs.get(id)
      if (!job) throw new Error(`there is no job ${id}`)
      job.state = { ...job.state, ...state }
    },
    forget: (id) => void jobs.delete(id),
    waitFor: (predicate) =>
      new Promise((resolve) => {
        const look = () => {
          if (!predicate(upstream)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return upstream
}

function nextOf(script: Answering[]): Answering | undefined {
  return script.length > 1 ? script.shift() : script[0]
}

function send(response: ServerResponse, answer: ScriptedAnswer): void {
  const { status = 200, headers = {}, body, hang, cut } = answer
  if (hang) return
  if (cut === 'before') {
    response.destroy()
    return
  }
  const raw = typeof body === 'string' || body instanceof Uint8Array
  const payload = body === undefined ? '' : raw ? body : JSON.stringify(body)
  const type: Record<string, string> = raw || body === undefined ? {} : { 'content-type': 'application/json' }
  if (cut === 'body') {
    response.writeHead(status, { ...type, ...headers, 'content-length': String(Buffer.byteLength(payload) + 100) })
    response.write(payload, () => response.destroy())
    return
  }
  response.writeHead(status, { ...type, ...headers }).end(payload)
}
