import type { ServerResponse } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { createGzip } from 'node:zlib'

/** How an upstream answers one request. Members that are left out come from the default behaviour. */
export interface ScriptedAnswer {
  /** Default 200 (201 for a create). */
  status?: number
  headers?: Record<string, string>
  /** JSON, unless it is text or bytes. */
  body?: unknown
  /** Waits this long before answering, in milliseconds. */
  delayMs?: number
  /** Never answers; the socket stays open until the upstream closes. */
  hang?: boolean
  /** Cuts the connection: before anything is sent, in the middle of the headers, or in the middle of the body. */
  cut?: 'before' | 'headers' | 'body'
  /** Answers 302 (or `status`) with this `Location`. */
  redirect?: string
  /** Sent in place of an HTTP answer, byte for byte; then the connection ends. */
  raw?: string | Uint8Array
  /** A JSON body of this many bytes that arrives compressed to a thousandth. */
  gzipBomb?: number
  /** Sends the body in pieces of `bytes` (1) with a pause after each, in milliseconds. */
  drip?: { everyMs: number; bytes?: number }
  /**
   * Whether the operation happens all the same: a create makes its job, a cancel or an answer reaches it. Default: only when the
   * answer is the upstream's own, or a create's status is 2xx. `{ cut: 'before', takesEffect: true }` is the answer that was lost.
   */
  takesEffect?: boolean
}

/** A JSON value, as an answer: sent with status 200. */
export type JsonAnswer = null | string | number | boolean | JsonAnswer[] | { [member: string]: JsonAnswer | undefined }

const MEMBERS = new Set([
  'status',
  'headers',
  'body',
  'delayMs',
  'hang',
  'cut',
  'redirect',
  'raw',
  'gzipBomb',
  'drip',
  'takesEffect',
])
/** Members that stand in place of the upstream's own answer. */
const ANSWERS = ['status', 'body', 'redirect', 'raw', 'gzipBomb'] as const

/**
 * Reads an entry of a script. An object is an instruction when it has only members of {@link ScriptedAnswer} and its `status`, if it
 * has one, is a number; everything else is a JSON value to be sent.
 * @throws Error for an object that is half an instruction.
 */
export function instructionOf(entry: ScriptedAnswer | JsonAnswer): ScriptedAnswer {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return { body: entry }
  const foreign = Object.keys(entry).filter((member) => !MEMBERS.has(member))
  const numeric = typeof entry.status === 'number'
  if (foreign.length > 0 && numeric) {
    throw new Error(
      `a scripted answer has the status ${entry.status} beside ${foreign.join(', ')}: put the JSON in \`body\``,
    )
  }
  const isInstruction = foreign.length === 0 && (entry.status === undefined || numeric)
  return isInstruction ? (entry as ScriptedAnswer) : { body: entry }
}

/** Whether the upstream's own answer is what is sent, however slowly or brokenly. */
export function leavesAnswer(given: ScriptedAnswer): boolean {
  return ANSWERS.every((member) => given[member] === undefined)
}

/** Whether the operation happens, unless `takesEffect` says otherwise: the client is told so, or nobody has said otherwise. */
export function happens(given: ScriptedAnswer | undefined): boolean {
  return given === undefined || (leavesAnswer(given) && given.cut === undefined && !given.hang)
}

/** Sends an answer, in whatever broken way it says. Never rejects: the client may be gone. */
export async function sendAnswer(response: ServerResponse, answer: ScriptedAnswer, signal: AbortSignal): Promise<void> {
  const { headers = {}, body, cut, redirect, raw, gzipBomb, drip } = answer
  const status = answer.status ?? (redirect === undefined ? 200 : 302)
  response.on('error', () => undefined)
  if (answer.hang) return
  if (cut === 'before') {
    response.destroy()
    return
  }
  if (cut === 'headers' || raw !== undefined) {
    const bytes = raw ?? `HTTP/1.1 ${status} OK\r\ncontent-type: appl`
    response.socket?.write(bytes, () => response.destroy())
    return
  }
  if (gzipBomb !== undefined) {
    response.writeHead(status, { 'content-type': 'application/json', 'content-encoding': 'gzip', ...headers })
    pipeline(Readable.from(blanks(gzipBomb)), createGzip(), response, () => undefined)
    return
  }
  const bytes = Buffer.from(
    body === undefined ? '' : typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  )
  const isJson = body !== undefined && typeof body !== 'string' && !(body instanceof Uint8Array)
  const all = {
    ...(isJson ? { 'content-type': 'application/json' } : {}),
    ...(redirect === undefined ? {} : { location: redirect }),
    ...headers,
  }
  if (cut === 'body') {
    response.writeHead(status, { ...all, 'content-length': String(bytes.length + 100) })
    response.write(bytes, () => response.destroy())
    return
  }
  response.writeHead(status, all)
  if (!drip) {
    response.end(bytes)
    return
  }
  const { everyMs, bytes: size = 1 } = drip
  response.flushHeaders()
  for (let at = 0; at < bytes.length && !response.destroyed && !signal.aborted; at += size) {
    response.write(bytes.subarray(at, at + size))
    await pause(everyMs, undefined, { signal }).catch(() => undefined)
  }
  response.end()
}

const BLOCK_BYTES = 65_536

/** Valid JSON, nearly all of it blanks. */
function* blanks(size: number): Generator<Buffer> {
  const block = Buffer.alloc(BLOCK_BYTES, ' ')
  for (let left = size - 2; left > 0; left -= BLOCK_BYTES) yield block.subarray(0, Math.min(left, BLOCK_BYTES))
  yield Buffer.from('{}')
}
