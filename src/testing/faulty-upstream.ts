import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import {
  happens,
  instructionOf,
  type JsonAnswer,
  leavesAnswer,
  type ScriptedAnswer,
  sendAnswer,
} from './scripted-answer.js'

/** An answer, a JSON value to be sent with status 200, or a function that gives either when the request comes. */
export type Answering =
  | ScriptedAnswer
  | JsonAnswer
  | ((request: SeenRequest) => ScriptedAnswer | JsonAnswer | Promise<ScriptedAnswer | JsonAnswer>)

/** A request as the upstream saw it. */
export interface SeenRequest {
  readonly method: string
  /** Path and query, as sent. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Parsed JSON, or text; undefined when there was none. */
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

/** What can be scripted. */
export type Operation = 'create' | 'get' | 'cancel' | 'answer' | 'result' | 'locate'

/** Scripted answers by operation: used up one by one, the last one stays. Empty: the default behaviour. */
export type Script = Record<Operation, Answering[]>

/** Options of {@link faultyUpstream}. */
export interface FaultyUpstreamOptions {
  /** The id of the nth job (from 1). Default: the number. */
  id?: (n: number) => string
  /** A bearer token; requests without it are answered 401. */
  token?: string
}

/** The upstream, as a test steers it. */
export interface FaultyUpstream {
  readonly url: string
  /** Scripts for all jobs. Change the arrays whenever you like, or put others in their place. */
  readonly script: Script
  /** Scripts for one job, which go before those for all; the job need not exist yet. */
  scriptFor(id: string): Omit<Script, 'create' | 'locate'>
  /** Every request so far, in order. */
  readonly requests: SeenRequest[]
  readonly jobs: Map<string, UpstreamJob>
  /** How many requests there were with this method and (whole) path; `*` in the path stands for one segment. */
  count(method: string, path: string): number
  /** Merges members into a job's state. @throws Error for an unknown job. */
  setState(id: string, state: Record<string, unknown>): void
  /** Ends a job: `status: 'done'`, unless `state` says otherwise, which is merged in. @throws Error for an unknown job. */
  finish(id: string, state?: Record<string, unknown>): void
  /** Forgets a job: from now on it is 404. */
  forget(id: string): void
  /**
   * Resolves once the predicate holds; it is looked at now, after each request, and after each change of a job.
   * @throws Error when the upstream closes first.
   */
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
const OVER = new Set(['done', 'error', 'cancelled'])

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

/** The id in a path such as `/jobs/42/cancel`. */
function idIn(path: string): string {
  const segment = path.split('/')[2]?.split('?')[0] ?? ''
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function emptyScript(): Script {
  return { create: [], get: [], cancel: [], answer: [], result: [], locate: [] }
}

function nextOf(entries: Answering[] | undefined): Answering | undefined {
  return entries && entries.length > 1 ? entries.shift() : entries?.[0]
}

/**
 * A real HTTP job server on a free port of 127.0.0.1, for tests of adapters and of everything that follows jobs.
 *
 * By default it behaves: `POST /jobs` makes a job (201 `{ id }`, its `key` member kept), `GET /jobs/{id}` answers its state
 * (`{ id, status: "running" }` at first), `POST /jobs/{id}/cancel` makes it `cancelled`, `/answer` makes it `running` again,
 * `GET /jobs/{id}/result` answers `{ output }`, `GET /jobs?key=K` finds it again. `script` makes any operation misbehave:
 *
 * ```ts
 * const up = await faultyUpstream()
 * up.script.get = [{ status: 'running' }, { status: 503 }, { hang: true }]
 * up.script.create = [{ cut: 'before', takesEffect: true }]   // the job exists, the answer is lost
 * up.scriptFor('2').get.push({ delayMs: 5_000 })
 * await up.waitFor(() => up.count('POST', '/jobs/1/cancel') === 1)
 * up.finish('1', { output: 'the film' })
 * await up.close()
 * ```
 */
export async function faultyUpstream(options: FaultyUpstreamOptions = {}): Promise<FaultyUpstream> {
  const { id: idOf = String, token } = options
  const jobs = new Map<string, UpstreamJob>()
  const requests: SeenRequest[] = []
  const script = emptyScript()
  const scripts = new Map<string, Script>()
  const waiting = new Set<() => void>()
  const closing = new AbortController()
  let made = 0
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      // A mistake in the test's own script should be seen, and not look like a fault that was asked for.
      if (response.headersSent) response.destroy()
      else response.writeHead(500).end(String(error))
    })
  })

  const lookAgain = () => {
    for (const look of [...waiting]) look()
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen: SeenRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers as Record<string, string>,
      body: await readBody(request),
    }
    requests.push(seen)
    lookAgain()
    if (token !== undefined && seen.headers.authorization !== `Bearer ${token}`) {
      await sendAnswer(response, { status: 401, body: { message: 'who are you?' } }, closing.signal)
      return
    }
    const operation = OPERATIONS.find(([, method, path]) => method === seen.method && path.test(seen.path))?.[0]
    // No pause unless the script makes one: a test that waits for a request finds its effect done.
    const entry = operation && entryFor(operation, seen)
    const value = typeof entry === 'function' ? await entry(seen) : entry
    const given = value === undefined ? undefined : instructionOf(value)
    if (given?.delayMs) await pause(given.delayMs, undefined, { signal: closing.signal })
    const own = operation ? behave(operation, seen, given) : { status: 404, body: { message: 'no such path' } }
    lookAgain()
    // A create that is only given another body keeps its 201.
    const keep = given === undefined || leavesAnswer(given) || (operation === 'create' && given.status === undefined)
    await sendAnswer(response, { ...(keep ? own : {}), ...given }, closing.signal)
  }

  function entryFor(operation: Operation, seen: SeenRequest): Answering | undefined {
    const forJob = scripts.get(idIn(seen.path))?.[operation]
    return nextOf(forJob?.length ? forJob : script[operation])
  }

  function behave(operation: Operation, seen: SeenRequest, given: ScriptedAnswer | undefined): ScriptedAnswer {
    const effect = given?.takesEffect ?? happens(given)
    if (operation === 'create') return create(seen, given)
    if (operation === 'locate') {
      const key = new URL(seen.path, 'http://localhost').searchParams.get('key')
      const found = [...jobs.values()].find((job) => (job.input as { key?: unknown } | undefined)?.key === key)
      return { body: { jobs: found ? [{ id: found.id }] : [] } }
    }
    const job = jobs.get(idIn(seen.path))
    if (!job) return { status: 404, body: { message: 'no such job' } }
    if (operation === 'result') return { body: { output: job.state.output ?? 'the output' } }
    if (operation === 'get') return { body: job.state }
    if (effect && operation === 'cancel' && !OVER.has(String(job.state.status)))
      job.state = { ...job.state, status: 'cancelled' }
    if (effect && operation === 'answer')
      job.state = { ...job.state, status: 'running', questions: [], answered: seen.body }
    return { body: {} }
  }

  function create(seen: SeenRequest, given: ScriptedAnswer | undefined): ScriptedAnswer {
    // A status, or a body alone, is what the client is told: it decides.
    const told = given?.status === undefined ? given?.body !== undefined || happens(given) : given.status < 300
    const broken = given?.cut !== undefined || given?.hang === true
    if (!(given?.takesEffect ?? (told && !broken))) return {}
    const id = idOf(++made)
    jobs.set(id, { id, input: seen.body, state: { id, status: 'running' } })
    return { status: 201, body: { id } }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const upstream: FaultyUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    script,
    scriptFor: (id) => {
      const own = scripts.get(id) ?? emptyScript()
      scripts.set(id, own)
      return own
    },
    requests,
    jobs,
    count: (method, path) => requests.filter((seen) => seen.method === method && matches(path, seen.path)).length,
    setState: (id, state) => {
      const job = jobs.get(id)
      if (!job) throw new Error(`there is no job ${id}`)
      job.state = { ...job.state, ...state }
      lookAgain()
    },
    finish: (id, state = {}) => upstream.setState(id, { status: 'done', ...state }),
    forget: (id) => {
      jobs.delete(id)
      lookAgain()
    },
    waitFor: (predicate) =>
      new Promise((resolve, reject) => {
        const done = () => {
          waiting.delete(look)
          closing.signal.removeEventListener('abort', stop)
        }
        const stop = () => {
          done()
          reject(new Error('the upstream was closed before what was waited for'))
        }
        const look = () => {
          try {
            if (!predicate(upstream)) return
            done()
            resolve()
          } catch (error) {
            done()
            reject(error)
          }
        }
        waiting.add(look)
        closing.signal.addEventListener('abort', stop, { once: true })
        if (closing.signal.aborted) stop()
        else look()
      }),
    close: async () => {
      closing.abort()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return upstream
}
