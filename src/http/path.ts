import { DefinitionError } from '../errors/index.js'
import { escapeProblem, pathSegment, refuseEscape, segmentText } from './segment.js'

declare const SAFE: unique symbol

/** A path whose chosen parts are encoded and checked. Made only by {@link path} and {@link safePath}. */
export interface SafePath {
  readonly [SAFE]: true
  /** The encoded path below the base URL, with its leading slash; empty for the base itself. */
  readonly pathname: string
  /** The encoded query that the template itself holds, without `?`. */
  readonly search: string
  /** What errors show: the text with its placeholders, never the values. */
  readonly template: string
}

/** A piece of a path: text that the operator wrote, or a value that a call or an upstream gave. */
export type PathPart = { readonly literal: string } | { readonly value: unknown; readonly field: string }

const MADE = new WeakSet<object>()

/** True for a path that this module made. */
export function isSafePath(value: unknown): value is SafePath {
  return typeof value === 'object' && value !== null && MADE.has(value)
}

/**
 * A path as a template: every interpolated value becomes one encoded segment, or the part of a segment it fills.
 *
 * @example path`/repos/${owner}/${repo}/runs/${id}`
 * @throws InputError for a value that cannot be part of a path; DefinitionError when the text itself is wrong
 */
export function path(texts: TemplateStringsArray, ...values: readonly unknown[]): SafePath {
  const template = texts.join('{}')
  const parts: PathPart[] = []
  texts.forEach((literal, index) => {
    if (index > 0) parts.push({ value: values[index - 1], field: `value ${index} of path ${template}` })
    parts.push({ literal })
  })
  return safePath(parts, template)
}

/**
 * Builds a path from pieces; for renderers of declarative templates. After a `?` in a literal the pieces belong to the
 * query: values there are encoded, and may hold anything.
 *
 * @param parts the pieces in order
 * @param template what errors show, such as `/jobs/{ref.id}`
 * @throws InputError for a value that cannot be part of a path; DefinitionError when a literal is wrong
 */
export function safePath(parts: readonly PathPart[], template: string): SafePath {
  let search: string | undefined
  // The path in segments, each with the value that fills it, if any: `.{a}` is harmless until `a` is `.`.
  const segments: { text: string; field?: string }[] = []
  let current: { text: string; field?: string } = { text: '' }
  segments.push(current)
  for (const part of parts) {
    if ('field' in part) {
      if (search !== undefined) {
        search += encodeURIComponent(segmentText(part.value, part.field))
        continue
      }
      current.text += pathSegment(part.value, part.field)
      current.field = part.field
      continue
    }
    checkLiteral(part.literal, template)
    if (search !== undefined) {
      search += part.literal
      continue
    }
    const mark = part.literal.indexOf('?')
    if (mark >= 0) search = part.literal.slice(mark + 1)
    const [first = '', ...more] = (mark < 0 ? part.literal : part.literal.slice(0, mark)).split('/')
    current.text += first
    for (const text of more) {
      current = { text }
      segments.push(current)
    }
  }
  for (const segment of segments) checkSegment(segment, template)
  const joined = segments.map((segment) => segment.text).join('/')
  const pathname = joined === '' || joined.startsWith('/') ? joined : `/${joined}`
  const made = Object.freeze({ pathname, search: search ?? '', template }) as SafePath
  MADE.add(made)
  return made
}

function checkSegment({ text, field }: { text: string; field?: string }, template: string): void {
  if (text === '') return
  if (field !== undefined) {
    refuseEscape(text, field)
  } else if (escapeProblem(text) !== undefined) {
    throw new DefinitionError({
      field: `path ${template}`,
      problem: `the segment "${text}" would be resolved away`,
      remedy: 'Write the path without "." and ".." segments, in any encoding.',
    })
  }
}

function checkLiteral(literal: string, template: string): void {
  if (/[\p{Cc}\\]/u.test(literal) || !literal.isWellFormed()) {
    throw new DefinitionError({
      field: `path ${template}`,
      problem: 'it holds a backslash, a control character or broken Unicode',
      remedy: 'Write it with "/" and plain characters.',
    })
  }
  if (literal.includes('#')) {
    throw new DefinitionError({
      field: `path ${template}`,
      problem: 'it holds a "#", and what follows would never be sent',
      remedy: 'Write %23 for a "#" in a name.',
    })
  }
}
