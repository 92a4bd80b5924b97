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

/** A piece of a text. */
export type Part = { readonly literal: string } | { readonly placeholder: Placeholder }

/** A value that is ready to be filled in. */
export type Template = (scope: Scope) => unknown

const PATTERN = /\{\{([A-Za-z_][\w.$-]*)\}\}|\{([A-Za-z_][\w.$-]*)\}/g

/** Splits a text into literals and placeholders. */
export function parseTemplate(text: string): Part[] {
  const parts: Part[] = []
  let at = 0
  for (const match of text.matchAll(PATTERN)) {
    if (match.index > at) parts.push({ literal: text.slice(at, match.index) })
    const [whole, escaped, name = ''] = match
    if (escaped !== undefined) parts.push({ literal: `{${escaped}}` })
    else parts.push({ placeholder: name.split('.') as [string, ...string[]] })
    at = match.index + whole.length
  }
  if (at < text.length) parts.push({ literal: text.slice(at) })
  return parts
}

/** True for a text with braces that are neither a placeholder nor an escaped one, such as `{ ref.id }` or `{ref.id`. */
export function hasStrayBraces(text: string): boolean {
  return /[{}]/.test(text.replace(PATTERN, ''))
}

/** All placeholders in a value: a text, or texts anywhere in an object or list. Names of members are no texts to fill in. */
export function placeholdersIn(value: unknown): Placeholder[] {
  if (typeof value === 'string')
    return parseTemplate(value).flatMap((part) => ('placeholder' in part ? [part.placeholder] : []))
  if (Array.isArray(value)) return value.flatMap(placeholdersIn)
  return isPlain(value) ? Object.values(value).flatMap(placeholdersIn) : []
}

/** True for objects as JSON and YAML have them; dates and byte arrays are values, not structure. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** The value of a placeholder, or undefined: own members only, so that no name reaches the prototype chain. */
export function lookUp(scope: Scope, [root, ...members]: Placeholder): unknown {
  let value: unknown = Object.hasOwn(scope, root) ? scope[root as Root] : undefined
  for (const member of members) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return undefined
    value = (value as Record<string, unknown>)[member]
  }
  return value
}

/**
 * Compiles a value. Of what it gives: a text that is one placeholder becomes the value itself, with its type (null stays null); a
 * text around a value that is absent or null is absent as a whole; absent members of objects and items of lists are dropped.
 */
export function compileTemplate(value: unknown): Template {
  if (typeof value === 'string') return compileText(value)
  if (Array.isArray(value)) {
    const items = value.map(compileTemplate)
    return (scope) => items.map((item) => item(scope)).filter((item) => item !== undefined)
  }
  if (!isPlain(value)) return () => value
  const members = Object.entries(value).map(([name, member]) => [name, compileTemplate(member)] as const)
  return (scope) =>
    Object.fromEntries(
      members.flatMap(([name, member]) => {
        const filled = member(scope)
        return filled === undefined ? [] : [[name, filled]]
      }),
    )
}

function compileText(text: string): Template {
  const parts = parseTemplate(text)
  const [only] = parts
  if (parts.length === 1 && only && 'placeholder' in only) return (scope) => lookUp(scope, only.placeholder)
  return (scope) => {
    let whole = ''
    for (const part of parts) {
      const value = 'literal' in part ? part.literal : lookUp(scope, part.placeholder)
      if (value === undefined || value === null) return undefined
      whole += typeof value === 'object' ? JSON.stringify(value) : String(value)
    }
    return whole
  }
}

/**
 * Compiles a path: each value is one encoded segment, or a part of one; behind a `?`, a part of the query.
 * @returns a function that throws InputError for a value that is absent or cannot be part of a path, and DefinitionError for
 *   a path that is wrong in itself.
 */
export function compilePath(template: string): (scope: Scope) => SafePath {
  const parts = parseTemplate(template)
  return (scope) => {
    const pieces = parts.map((part): PathPart => {
      if ('literal' in part) return part
      const field = part.placeholder.join('.')
      const value = lookUp(scope, part.placeholder)
      if (value === undefined || value === null)
        throw new InputError(field, 'is missing, and the path of a request needs it')
      return { value, field }
    })
    return safePath(pieces, template)
  }
}

/** The only placeholder of a text that is nothing else, for example `['ref', 'url']` of `{ref.url}`. */
export function onlyPlaceholder(text: string): Placeholder | undefined {
  const [only, ...more] = parseTemplate(text)
  return only && more.length === 0 && 'placeholder' in only ? only.placeholder : undefined
}
