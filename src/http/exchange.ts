import type { ClientRequest, Agent as HttpAgent, IncomingMessage } from 'node:http'
import type { Agent as HttpsAgent } from 'node:https'
import type { Duplex } from 'node:stream'
import got from 'got'
import { BodyBuffer } from './body-buffer.js'

/** One request as it goes over the wire. */
export interface Wire {
  readonly url: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array | undefined
  readonly agent: { http: HttpAgent; https: HttpsAgent }
  /** How much of the decompressed body to read, in bytes, and whether the end of a larger one is kept. By status. */
  readonly limits: (status: number) => { maxBytes: number; keepTail: boolean }
  /** Ends the exchange at once. */
  readonly signal: AbortSignal
}

/** Why a body is not whole. */
export type Cut = 'aborted' | 'cut' | 'too-large' | 'undecodable'

/** What came back. */
export interface Received {
  readonly status: number
  readonly headers: Record<string, string>
  readonly bytes: Uint8Array
  /** Bytes dropped from the front of the body. */
  readonly droppedBytes: number
  /** Set when the body ended before its end. */
  readonly cut: Cut | undefined
  /** The code of the error that cut the body, such as `ECONNRESET`. */
  readonly code: string | undefined
}

/** No answer came back. */
export class NoAnswer extends Error {
  /** True when our own signal ended the exchange. */
  readonly aborted: boolean
  /** True when at least a part of the request may have left this machine. */
  readonly sent: boolean
  readonly errorCode: string | undefined

  constructor(facts: { aborted: boolean; sent: boolean; code: string | undefined; message: string }) {
    super(facts.message)
    this.name = 'NoAnswer'
    this.aborted = facts.aborted
    this.sent = facts.sent
    this.errorCode = facts.code
  }
}

/**
 * Sends one request once and reads its answer, whatever its status.
 *
 * @returns the answer; with `cut` set when its body is not whole
 * @throws NoAnswer when no status line arrived
 */
export function exchange(wire: Wire): Promise<Received> {
  return new Promise((resolve, reject) => {
    // got's own retries, redirects and status errors are off: the client decides about all three.
    const stream = got.stream(wire.url, {
      method: wire.method as 'GET',
      headers: wire.headers,
      // An empty body ends the request: without one the stream of a POST would wait to be written to.
      ...(wire.body === undefined ? (hasBody(wire.method) ? { body: '' } : {}) : { body: wire.body }),
      allowGetBody: wire.body !== undefined,
      agent: wire.agent,
      retry: { limit: 0 },
      followRedirect: false,
      throwHttpErrors: false,
    })
    let body: BodyBuffer | undefined
    let answer: IncomingMessage | undefined
    let sent = false
    let settled = false

    const settle = (end: () => void) => {
      if (settled) return
      settled = true
      wire.signal.removeEventListener('abort', abort)
      end()
    }
    const finish = (cut?: Cut, code?: string) =>
      settle(() => {
        const { statusCode = 0, headers = {} } = answer ?? {}
        const { bytes = new Uint8Array(), droppedBytes = 0 } = body?.take() ?? {}
        resolve({ status: statusCode, headers: flatten(headers), bytes, droppedBytes, cut, code })
      })
    const fail = (aborted: boolean, error?: Error) => {
      const code = codeOf(error)
      if (answer !== undefined) {
        finish(aborted ? 'aborted' : /^Z_|^ERR_.*(?:BROTLI|ZSTD|ZLIB)/.test(code ?? '') ? 'undecodable' : 'cut', code)
      } else {
        settle(() => reject(new NoAnswer({ aborted, sent, code, message: error?.message ?? 'aborted' })))
      }
      stream.destroy()
    }
    const abort = () => fail(true)

    stream.on('request', (request: ClientRequest) => {
      request.prependOnceListener('response', (response: IncomingMessage) => {
        answer = response
        const { maxBytes, keepTail } = wire.limits(response.statusCode ?? 0)
        body = new BodyBuffer(maxBytes, keepTail)
      })
      // got listens for these, so Node hands the bare socket over. Nobody else would catch its errors, which end the process.
      for (const event of ['upgrade', 'connect'] as const) {
        request.once(event, (response: IncomingMessage, socket: Duplex) => {
          socket.on('error', () => {})
          socket.destroy()
          answer = response
          finish()
          stream.destroy()
        })
      }
      forgiveLateErrors(request, () => answer?.complete === true)
      request.once('socket', (socket) => {
        if (socket.connecting)
          socket.once(wire.url.startsWith('https:') ? 'secureConnect' : 'connect', () => (sent = true))
        else sent = true
      })
    })
    stream.on('data', (chunk: Buffer) => {
      if (settled || body?.add(chunk) !== false) return
      finish('too-large')
      stream.destroy()
    })
    stream.on('end', () => finish())
    // Stays attached: got may report an error after the exchange was given up.
    stream.on('error', (error: Error) => fail(false, error))
    if (wire.signal.aborted) abort()
    else wire.signal.addEventListener('abort', abort, { once: true })
  })
}

function hasBody(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

/**
 * Keeps errors from the request once its answer is whole. Some servers (slurmrestd 22.05) send stray bytes after the body or
 * reset the connection; taking that for a failed create would start the job twice.
 */
function forgiveLateErrors(request: ClientRequest, isComplete: () => boolean): void {
  const emit = request.emit
  request.emit = function (this: ClientRequest, event: string | symbol, ...rest: unknown[]): boolean {
    if (event === 'error' && isComplete()) return true
    return Reflect.apply(emit, this, [event, ...rest])
  }
}

/** The code of the innermost error that has one: got wraps the errors of Node. */
function codeOf(error: unknown): string | undefined {
  let code: string | undefined
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string' && !at.code.startsWith('ERR_GOT')) code = at.code
  }
  return code
}

function flatten(headers: IncomingMessage['headers']): Record<string, string> {
  const flat: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}
