/**
 * Tasks with the official client, in one file to copy.
 *
 * `@modelcontextprotocol/client` speaks revision 2026-07-28 but does not know tasks; `@modelcontextprotocol/ext-tasks/client` does, and
 * asks for a way to send its own requests over the same connection. That way is the small tap below: it sends requests with ids of
 * its own (text, so that they never meet the client's numbers) and takes their answers before the client sees them.
 */
import { Client, type Transport } from '@modelcontextprotocol/client'
import {
  type ApplicationElicitResult,
  createTaskSessionFromClient,
  DispatchError,
  type RawClientDispatch,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client'

/** What a person is asked. */
export interface Elicitation {
  message: string
  /** The form's JSON Schema; absent when a page is to be opened. */
  requestedSchema?: { properties?: Record<string, { type?: string; title?: string; description?: string }> }
  url?: string
}

/** How a session is opened. */
export interface TaskSessionOptions {
  /** A transport that is not started yet. */
  transport: Transport
  /** Names the endpoint in saved task references: the same for the same server. */
  endpointId: string
  /** Asks the person. */
  onElicitation?: (request: Elicitation) => Promise<ApplicationElicitResult>
}

/** An open session. */
export interface TaskSession {
  readonly client: Client
  readonly tasks: TaskEnabledSession
  close(): Promise<void>
}

const INFO = { name: 'task-session', version: '1.0.0' }
const CAPABILITIES = { elicitation: { form: {}, url: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }
const REQUEST_TIMEOUT_MS = 60_000
/** How the tap's ids begin. The client's own are numbers, so the two never meet. */
const OWN_IDS = 'task-'
/** What may be sent once more when its answer was lost. Not a call: a second call is a second job. */
const HARMLESS_TWICE = new Set(['tasks/get', 'tasks/cancel'])

type Dispatched = Awaited<ReturnType<RawClientDispatch>>
type Message = { id?: unknown; method?: unknown; result?: unknown; error?: unknown }

/** Connects and opens a session with tasks. @throws what the client throws when it cannot connect. */
export async function openTaskSession(options: TaskSessionOptions): Promise<TaskSession> {
  const { transport, endpointId, onElicitation } = options
  // Without `auto` the client speaks the older revision, which has no task extension.
  const client = new Client(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode: 'auto' } })
  await client.connect(transport)
  const protocolVersion = client.getNegotiatedProtocolVersion() ?? ''
  const tasks = createTaskSessionFromClient(client, {
    endpointId,
    rawDispatch: tap(client, transport),
    v2RequestFraming: { protocolVersion, clientInfo: INFO, clientCapabilities: CAPABILITIES },
    onInputRequest: async (request) => {
      if (request.kind !== 'elicitation') throw new Error(`this client cannot answer a ${request.kind} request`)
      const answer = await onElicitation?.(request.params as unknown as Elicitation)
      return (answer ?? { action: 'cancel' }) as never
    },
  })
  return {
    client,
    tasks,
    close: async () => {
      await tasks.close()
      await client.close()
    },
  }
}

/** Sends requests beside the client, over its transport. */
function tap(client: Client, transport: Transport): RawClientDispatch {
  const waiting = new Map<string, { settle: (answer: Dispatched) => void; fail: (error: Error) => void }>()
  const deliver = transport.onmessage
  const closed = transport.onclose
  let sent = 0
  transport.onmessage = (message, extra) => {
    const { id, method, result, error } = message as Message
    if (method !== undefined || typeof id !== 'string' || !id.startsWith(OWN_IDS)) {
      deliver?.(message, extra)
      return
    }
    // An answer that comes too late finds nobody waiting, and is no business of the client either.
    waiting
      .get(id)
      ?.settle(
        error === undefined ? { kind: 'result', result: result as never } : { kind: 'error', error: error as never },
      )
  }
  transport.onclose = () => {
    for (const { fail } of [...waiting.values()]) fail(new DispatchError('the connection was closed'))
    closed?.()
  }
  /** Tells the server that nobody waits any more: over HTTP by ending the request, elsewhere by a message. */
  const callOff = (id: string, exchange: AbortController, reason: Error) => {
    exchange.abort(reason)
    if (transport.hasPerRequestStream) return
    const params = { requestId: id, reason: reason.message }
    client.notification({ method: 'notifications/cancelled', params }).catch(() => undefined)
  }
  return (request, { signal, context } = {}) => {
    const id = `${OWN_IDS}${++sent}`
    const { method } = request as { method: string }
    const lost = (problem: string, cause?: unknown) => new DispatchError(problem, HARMLESS_TWICE.has(method), { cause })
    const exchange = new AbortController()
    return new Promise<Dispatched>((resolve, reject) => {
      const limit = context?.requestTimeoutMs ?? REQUEST_TIMEOUT_MS
      const timer = setTimeout(() => giveUp(lost(`no answer within ${limit} ms`)), limit)
      const abort = () => giveUp(signal?.reason instanceof Error ? signal.reason : new DispatchError('aborted'))
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        waiting.delete(id)
      }
      const settle = (answer: Dispatched) => {
        done()
        resolve(answer)
      }
      const fail = (error: Error) => {
        done()
        reject(error)
      }
      const giveUp = (error: Error) => {
        fail(error)
        callOff(id, exchange, error)
      }
      if (signal?.aborted) {
        fail(signal.reason instanceof Error ? signal.reason : new DispatchError('aborted'))
        return
      }
      waiting.set(id, { settle, fail })
      signal?.addEventListener('abort', abort, { once: true })
      const message = { jsonrpc: '2.0', id, ...(request as object) } as never
      const options = {
        ...(context?.headers ? { headers: { ...context.headers } } : {}),
        requestSignal: exchange.signal,
        // After an answer this changes nothing: the promise is settled.
        onRequestStreamEnd: () => fail(lost('the connection ended before the answer came')),
      }
      transport.send(message, options).catch((error: unknown) => fail(lost(String(error), error)))
    })
  }
}
