import { parse as parseLossless } from 'lossless-json'

/**
 * Deepest nesting that is read. Real answers stay below 50; what reads them afterwards recurses, so deeper ones could
 * overflow its stack.
 */
const MAX_DEPTH = 500

// Only such texts can hold a number that JSON.parse would change: 16 digits in a row, or an exponent of three.
const LARGE_NUMBER = /\d{16}|\d[eE]\+?\d{3}/

/**
 * Parses JSON without losing digits: integers beyond 2^53 (and numbers beyond the double range) become strings with every
 * digit, all others plain numbers. Of equal keys the last wins. Members named `__proto__` are left out.
 *
 * @throws SyntaxError when the text is no JSON or is nested too deeply
 */
export function parseJson(text: string): unknown {
  const source = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  if (isTooDeep(source)) throw new SyntaxError(`JSON nested deeper than ${MAX_DEPTH} levels`)
  const value: unknown = LARGE_NUMBER.test(source)
    ? parseLossless(source, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue })
    : JSON.parse(source)
  // An own `__proto__` member is harmless by itself, but turns into a prototype when later code copies by assignment.
  if (source.includes('__proto__') || source.includes('\\u')) dropProto(value)
  return value
}

function parseNumber(digits: string): number | string {
  const number = Number(digits)
  if (!Number.isFinite(number)) return digits
  return /^-?\d+$/.test(digits) && !Number.isSafeInteger(number) ? digits : number
}

function isTooDeep(text: string): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === 0x5c) at += 1
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x5b || code === 0x7b) {
      depth += 1
      if (depth > MAX_DEPTH) return true
    } else if (code === 0x5d || code === 0x7d) depth -= 1
  }
  return false
}

function dropProto(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__')
  for (const member of Object.values(value)) dropProto(member)
}

/** The body of an answer. `broken` says that JSON was declared but cannot be read; `html` that it is a web page. */
export type ParsedBody =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'text' | 'html'; readonly value: string }
  | { readonly kind: 'broken'; readonly value: string; readonly cause: Error }

/**
 * Reads a body as what it is. JSON is believed where the content type says so, and recognised by its first character where
 * the content type is plain or missing: many servers mislabel it.
 *
 * @param text the decoded body
 * @param contentType the header, if any
 */
export function parseBody(text: string, contentType: string | undefined): ParsedBody {
  const type = mediaType(contentType)
  if (text.trim() === '') return { kind: 'text', value: text }
  if (isJsonType(type)) {
    try {
      return { kind: 'json', value: parseJson(text) }
    } catch (error) {
      if (looksLikeHtml(text)) return { kind: 'html', value: text }
      return { kind: 'broken', value: text, cause: error instanceof Error ? error : new SyntaxError('no JSON') }
    }
  }
  if (type === 'text/html' || type === 'application/xhtml+xml' || looksLikeHtml(text))
    return { kind: 'html', value: text }
  if (/^\s*[[{]/.test(text) && /^(text\/plain|application\/octet-stream|)$/.test(type)) {
    try {
      return { kind: 'json', value: parseJson(text) }
    } catch {
      // A log may begin with a bracket too.
    }
  }
  return { kind: 'text', value: text }
}

/** True for `application/json`, `application/vnd.github+json` and their like, not for line-delimited JSON. */
export function isJsonType(contentType: string | undefined): boolean {
  return /^[^/]+\/(?:x-)?json$|^[^/]+\/[^/]+\+json$/.test(mediaType(contentType))
}

function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

function looksLikeHtml(text: string): boolean {
  return /^\s*(?:<!--[\s\S]{0,500}?-->\s*)?<(?:!doctype\s+html|html)[\s>]/i.test(text.slice(0, 1000))
}

/**
 * Decodes a body: UTF-8 unless the content type names another known charset. Wrong bytes become U+FFFD.
 *
 * @param bytes the body after decompression
 */
export function decodeText(bytes: Uint8Array, contentType: string | undefined): string {
  const charset = /charset\s*=\s*"?([^\s";]+)/i.exec(contentType ?? '')?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    try {
      return new TextDecoder(charset).decode(bytes)
    } catch {
      // An unknown charset: UTF-8 is the best guess left.
    }
  }
  return new TextDecoder('utf-8').decode(bytes)
}
