import { InputError } from '../errors/index.js'

/** Longest value that may become a path segment, in characters. Ids and branch names are far shorter. */
export const MAX_SEGMENT_CHARS = 2048

const CONTROL = /\p{Cc}/u
const LONE_SURROGATE = /\p{Surrogate}/u
const SLASHES = /[/\\]/
// A run of percent escapes, in the standard form and in the `%uXXXX` form that some servers decode too.
const ESCAPES = /(?:%[0-9a-f]{2})+|%u[0-9a-f]{4}/gi

/**
 * Turns a value that a model or a person chose into exactly one path segment.
 *
 * @param value a non-empty text, or a number that has not lost digits
 * @param field what errors call the value, such as `input.job`
 * @returns the value, percent-encoded once: a slash in it stays inside the segment as `%2F`
 * @throws InputError for everything that could leave the segment, now or after a server decodes it once more: dot segments,
 *   empty values, control characters, broken Unicode, and each of them in encoded form
 */
export function pathSegment(value: unknown, field: string): string {
  const text = segmentText(value, field)
  refuseEscape(text, field)
  return encodeURIComponent(text)
}

/** The text of a value for a path or a query. @throws InputError when it has none or is too long for a path segment. */
export function segmentText(value: unknown, field: string): string {
  const text = scalarText(value, field)
  if (text.length > MAX_SEGMENT_CHARS) {
    throw new InputError(field, `is ${text.length} characters long; at most ${MAX_SEGMENT_CHARS} fit in a path`)
  }
  if (LONE_SURROGATE.test(text)) throw new InputError(field, 'is not valid Unicode text')
  return text
}

function scalarText(value: unknown, field: string): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) throw new InputError(field, 'is missing')
  if (typeof value !== 'number') throw new InputError(field, `must be text or a number, not ${kindOf(value)}`)
  if (!Number.isFinite(value)) throw new InputError(field, 'must be a finite number')
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw new InputError(field, 'is beyond 2^53, so its last digits are lost already; give it as text')
  }
  return String(value)
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/**
 * Refuses a text that leaves its segment in any reading a server may give it. Encoding `..` is not enough: a proxy or a
 * framework that decodes once more sees it again. So every layer of decoding is judged until nothing changes any more.
 * A plain or encoded slash alone is allowed, since it names things (`feature/login`, and Jenkins' `feature%2Flogin`).
 *
 * @throws InputError naming `field`
 */
export function refuseEscape(text: string, field: string): void {
  const problem = escapeProblem(text)
  if (problem !== undefined) throw new InputError(field, problem)
}

/** What makes a text unfit as a path segment, or `undefined` when nothing does. */
export function escapeProblem(text: string): string | undefined {
  let layer = text
  // Ends: each round that changes anything makes the text at least two characters shorter.
  for (;;) {
    const problem = layerProblem(layer)
    if (problem !== undefined) return layer === text ? problem : `${problem} once it is decoded`
    const next = layer.replace(ESCAPES, decodeRun)
    if (next === layer) return undefined
    layer = next
  }
}

function layerProblem(layer: string): string | undefined {
  if (CONTROL.test(layer)) return 'holds a control character'
  // Some servers fold look-alikes such as the full-width dot before they resolve a path.
  const readings = /[^\0-\x7f]/.test(layer) ? [layer, layer.normalize('NFKC')] : [layer]
  for (const reading of readings) {
    const segments = reading.split(SLASHES).map(bare)
    if (segments.every((segment) => segment === '')) return 'is empty'
    if (segments.some((segment) => segment === '.' || segment === '..')) return 'holds a "." or ".." path segment'
  }
  return undefined
}

/** A segment as lenient servers see it: without a `;parameter` (Tomcat reads `..;x` as `..`) and surrounding blanks. */
function bare(segment: string): string {
  const end = segment.indexOf(';')
  return (end > 0 ? segment.slice(0, end) : segment).trim()
}

/** Decodes one run of escapes as leniently as the most lenient server: overlong UTF-8 forms count as what they mean. */
function decodeRun(run: string): string {
  if (/^%u/i.test(run)) return String.fromCharCode(Number.parseInt(run.slice(2), 16)).toWellFormed()
  const bytes = Buffer.from(run.replaceAll('%', ''), 'hex')
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at] ?? 0
    const length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0
    const rest = bytes.subarray(at + 1, at + length)
    if (length === 0 || rest.length < length - 1 || rest.some((byte) => (byte & 0xc0) !== 0x80)) {
      text += '\ufffd'
      at += 1
      continue
    }
    let code = length === 1 ? lead : lead & (0x7f >> length)
    for (const byte of rest) code = (code << 6) | (byte & 0x3f)
    text += code > 0x10ffff ? '\ufffd' : String.fromCodePoint(code).toWellFormed()
    at += length
  }
  return text
}
