import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { UpstreamError } from '../../src/errors/index.js'
import {
  configuredUrl,
  createHttpCore,
  type HttpAnswer,
  type HttpCoreOptions,
  type HttpRequest,
  path,
} from '../../src/http/index.js'

/** What a test server saw of one request. */
export interface Hit {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}

type Handler = (hit: Hit, res: ServerResponse, req: IncomingMessage) => void

/** A real HTTP server on a free port of 127.0.0.1; closed when the test ends. */
export async function serve(handler: Handler): Promise<{ baseUrl: string; hits: Hit[]; connections: () => number }> {
  const hits: Hit[] = []
  let connections = 0
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const hit = {
      method: req.method ?? '',
      url: req.url ?? '',
      headers: req.headers,
      body: Buffer.concat(chunks).toString(),
    }
    hits.push(hit)
    handler(hit, res, req)
  })
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { baseUrl: baseOf(server.address()), hits, connections: () => connections }
}

/** A bare TCP server, for answers that no HTTP server would give. `answer` is called once per request head. */
export async function serveRaw(answer: (socket: Socket, head: string) => void): Promise<{ baseUrl: string }> {
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => answer(socket, data.toString()))
  })
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { baseUrl: baseOf(server.address()) }
}

/** A port of 127.0.0.1 where nobody listens. */
export async function deadBase(): Promise<string> {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = baseOf(server.address())
  await new Promise((resolve) => server.close(resolve))
  return base
}

function baseOf(address: string | AddressInfo | null): string {
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}`
}

/** Sends requests to one base URL as adapters do. */
export function client(baseUrl: string, options: Partial<HttpCoreOptions> = {}) {
  const core = createHttpCore({ now: () => 1_800_000_000_000, random: () => 0, ...options })
  onTestFinished(() => core.close())
  const bind = (timeoutMs = 5_000, signal = new AbortController().signal) => core.bind({ signal, timeoutMs })
  const at = (name: string, query?: Record<string, unknown>) => configuredUrl({ baseUrl, path: path`/${name}`, query })
  return {
    core,
    bind,
    at,
    send: (name: string, request: Partial<HttpRequest> = {}, timeoutMs?: number): Promise<HttpAnswer> =>
      bind(timeoutMs).send({ url: at(name), ...request }),
    fault: (name: string, request: Partial<HttpRequest> = {}, timeoutMs?: number): Promise<UpstreamError> =>
      faultOf(bind(timeoutMs).send({ url: at(name), ...request })),
  }
}

/** The upstream error a promise ends with. Everything else fails the test. */
export async function faultOf(promise: Promise<unknown>): Promise<UpstreamError> {
  const outcome = await promise.then(
    (value) => new Error(`expected a fault, got ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
  if (UpstreamError.isInstance(outcome)) return outcome
  throw outcome
}

/** Answers JSON. */
export function json(res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers })
  res.end(JSON.stringify(body))
}

/** A server whose every answer is the one given. */
export async function answering(status: number, body: string | Buffer, headers: Record<string, string> = {}) {
  const { baseUrl, hits } = await serve((_hit, res) => {
    res.writeHead(status, headers)
    res.end(body)
  })
  return { ...client(baseUrl, { retries: 0 }), hits }
}

export const JSON_TYPE = { 'content-type': 'application/json' }
