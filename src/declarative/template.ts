import { InputError } from '../errors/index.js'
import { type PathPart, type SafePath, safePath } from '../http/index.js'

/*
 * `{placeholders}`: how requests are written. A placeholder is a root and, below it, members: `{input.scene}`, `{ref.id}`, `{key}`.
 * `{{input.scene}}` is the literal text `{input.scene}`; braces around anything else are literal as they are.
 */

/** The roots that placeholders may have. */
export const ROOTS = ['input', 'ref', 'key', 'env', 'question', 'answer', 'ask'] as const
export type Root = (typeof ROOTS)[number]

/** Values by root. */
export type Scope = Partial<Record<Root, unknown>>

/** A placeholder: `{input.scene}` is `['input', 'scene']`. */
export type Placeholder = readonly [root: string, ...members: string[]]

type Part = { literal: string } | { placeholder: Placeholder }

const PATTERN = /\{\{([A-Za-z_][\w.$-]*)\}\}|\{([A-Za-z_][\w.$-]*)\}/g

/** Splits a text into literals and placeholders. */
export function parseTemplate(text: string): Part[] {
  const parts: Part[] = []
  let at = 0
  for (const match of text.matchAll(PATTERN)) {
    if (match.index > at) parts.push({ literal: text.slice(at, match.index) })
    const [whole, escaped, name] = match
    if (escaped !== undefined) parts.push({ literal: `{${escaped}}` })
    else parts.push({ placeholder: (name ?? '').split('.') as [string, ...string[]] })
    at = match.index + whole.length
  }
  if (at < text.length) parts.push({ literal: text.slice(at) })
  return parts
}

/** All placeholders in a value: a text, or texts anywhere in an object or list. */
export function placeholdersIn(value: unknown): Placeholder[] {
  if (typeof value === 'string')
    return parseTemplate(value).flatMap((part) => ('placeholder' in part ? [part.placeholder] : []))
  if (Array.isArray(value)) return value.flatMap(placeholdersIn)
  return isPlain(value) ? Object.values(value).flatMap(placeholdersIn) : []
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array)
}

/** The value of a placeholder: own members only, so that no name reaches the prototype chain. Null counts as absent. */
export function lookUp(scope: Scope, [root, ...members]: Placeholder): unknown {
  let value: unknown = Object.hasOwn(scope, root) ? scope[root as Root] : undefined
  for (const member of members) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return undefined
    value = (value as Record<string, unknown>)[member]
  }
  return value ?? undefined
}

/**
 * Fills in a value. A text that is one placeholder becomes the value itself, with its type; a text around absent values is absent
 * as a whole; absent members of objects and items of lists are dropped.
 */
export function render(value: unknown, scope: Scope): unknown {
  if (typeof value === 'string') return renderText(value, scope)
  if (Array.isArray(value)) return value.map((item) => render(item, scope)).filter((item) => item !== undefined)
  if (!isPlain(value)) return value
  const members = Object.entries(value).map(([name, member]) => [name, render(member, scope)] as const)
  return Object.fromEntries(members.filter(([, member]) => member !== undefined))
}

function renderText(text: string, scope: Scope): unknown {
  const parts = parseTemplate(text)
  const [only] = parts
  if (parts.length === 1 && only && 'placeholder' in only) return lookUp(scope, only.placeholder)
  let whole = ''
  for (const part of parts) {
    if ('literal' in part) {
      whole += part.literal
      continue
    }
    const value = lookUp(scope, part.placeholder)
    if (value === undefined) return undefined
    whole += typeof value === 'object' ? JSON.stringify(value) : String(value)
  }
  return whole
}

/**
 * Fills in a path: each value is one encoded segment, or a part of one.
 * @throws InputError for a value that is absent or cannot be part of a path.
 */
export function renderPath(template: string, scope: Scope): SafePath {
  const parts = parseTemplate(template).map((part): PathPart => {
    if ('literal' in part) return part
    const field = part.placeholder.join('.')
    const value = lookUp(scope, part.placeholder)
    if (value === undefined) throw new InputError(field, 'is missing, and the path of a request needs it')
    return { value, field }
  })
  return safePath(parts, template)
}

/** The only placeholder of a text that is nothing else, for example `['ref', 'url']` of `{ref.url}`. */
export function onlyPlaceholder(text: string): Placeholder | undefined {
  const [only, ...more] = parseTemplate(text)
  return only && more.length === 0 && 'placeholder' in only ? only.placeholder : undefined
}
