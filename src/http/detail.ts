import { cap, cleanText } from './clean.js'
import type { ParsedBody } from './json.js'

/** How much of an upstream's own words an error shows, in characters. */
export const MAX_DETAIL_CHARS = 500
/** Bounds of the body that an error carries for the adapter. */
const MAX_BODY_CHARS = 10_000
const MAX_BODY_NODES = 2_000

// Where APIs put the sentence for people, the most telling first.
const SENTENCE = ['message', 'error_description', 'detail', 'error', 'description', 'reason', 'title', 'msg', 'Message']

/**
 * The upstream's own words from a failed answer, on one line: the sentence from the common JSON shapes, the title of a web
 * page, else the text itself.
 *
 * @param redact replaces secrets; applied before anything is shortened, so that half a secret is never left
 * @returns at most 500 characters, or `undefined` when the body says nothing
 */
export function upstreamWords(body: ParsedBody, redact: (text: string) => string): string | undefined {
  const words = body.kind === 'json' ? jsonWords(body.value) : body.kind === 'html' ? htmlWords(body.value) : body.value
  const line = redact(cleanText(words)).replace(/\s+/g, ' ').trim()
  return line === '' ? undefined : cap(line, MAX_DETAIL_CHARS)
}

function jsonWords(value: unknown): string {
  return sentence(value, 0) ?? (typeof value === 'string' ? value : JSON.stringify(value))
}

function sentence(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value
  if (typeof value !== 'object' || value === null || depth > 4) return undefined
  if (Array.isArray(value)) {
    const parts = value.slice(0, 5).flatMap((item) => sentence(item, depth + 1) ?? [])
    return parts.length === 0 ? undefined : parts.join('; ')
  }
  const own = SENTENCE.map((name) => sentence(member(value, name), depth + 1)).find((text) => text !== undefined)
  const list = sentence(listed(member(value, 'errors')), depth + 1)
  if (own === undefined || list === undefined || own === list) return own ?? list
  return `${own} (${list})`
}

/** `errors` is a list, or lists by field: `{ name: ["is too long"] }`. */
function listed(errors: unknown): unknown {
  if (typeof errors !== 'object' || errors === null || Array.isArray(errors)) return errors
  return Object.entries(errors)
    .slice(0, 5)
    .flatMap(([name, value]) => {
      const text = sentence(value, 3)
      return text === undefined ? [] : [`${name} ${text}`]
    })
}

function member(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined
}

function htmlWords(text: string): string {
  const head = text.slice(0, MAX_BODY_CHARS)
  const title =
    /<title\b[^<>]{0,200}>([^<]{1,500})/i.exec(head)?.[1] ?? /<h1\b[^<>]{0,200}>([^<]{1,500})/i.exec(head)?.[1]
  return title ?? 'a web page without a title'
}

/**
 * The body of a failed answer as an adapter may see and keep it: every text in it cleaned, redacted and shortened, and not
 * more than so many members.
 */
export function cleanBody(body: ParsedBody, redact: (text: string) => string): unknown {
  const budget = { nodes: MAX_BODY_NODES }
  const clean = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return cap(redact(cleanText(value)), MAX_BODY_CHARS)
    if (typeof value !== 'object' || value === null) return value
    if (depth > 20) return undefined
    if (Array.isArray(value)) return value.slice(0, take(value.length)).map((item) => clean(item, depth + 1))
    const entries = Object.entries(value)
    return Object.fromEntries(
      entries.slice(0, take(entries.length)).map(([name, item]) => [redact(cleanText(name)), clean(item, depth + 1)]),
    )
  }
  const take = (wanted: number) => {
    const granted = Math.min(wanted, budget.nodes)
    budget.nodes -= granted
    return granted
  }
  return clean(body.value, 0)
}
