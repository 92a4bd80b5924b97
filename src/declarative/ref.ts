import type { HttpAnswer } from '../http/index.js'
import { rebase } from '../http/index.js'
import { type Compiled, compileExpression } from './expression.js'
import { compilePattern, type Pattern } from './pattern.js'
import type { Sent } from './request.js'
import type { ExpressionVariables, HttpRef, RefSource, RequestDefinition } from './types.js'

/* What an answer adds to the ref: ids from the body or a header, and places (URLs) that the upstream names. */

export type CompiledRefSource = { expression: Compiled } | { header: string; match: Pattern | undefined }

/** The sources of a request's ref members; `id` is short for `ref: { id }`. */
export function refSources({ id, ref = {} }: RequestDefinition): [name: string, source: RefSource][] {
  const members = Object.entries(ref)
  return id === undefined ? members : [['id', id], ...members]
}

/** @throws Error for an expression or a pattern that is wrong. */
export function compileRefSource(source: RefSource): CompiledRefSource {
  if (typeof source === 'string' || typeof source === 'function') return { expression: compileExpression(source) }
  const { header, match } = source
  return { header: header.toLowerCase(), match: match === undefined ? undefined : compilePattern(match) }
}

/** True for what stands for a place and not for an id: a URL, or a path from the root. */
export function isPlace(value: unknown): value is string {
  return typeof value === 'string' && /^(https?:\/)?\//i.test(value)
}

/**
 * The ref members that an answer holds. What is not there is left out.
 * @throws Error when an expression fails; UpstreamError for a place that is no URL.
 */
export async function readRef(
  members: readonly (readonly [name: string, source: CompiledRefSource])[],
  sent: Sent,
  variables: ExpressionVariables,
): Promise<HttpRef> {
  const found: HttpRef = {}
  for (const [name, source] of members) {
    const value = 'header' in source ? fromHeader(source, sent) : await source.expression(sent.answer.body, variables)
    if (isUsable(value)) found[name] = value
  }
  return found
}

function isUsable(value: unknown): value is string | number {
  return typeof value === 'string' ? value !== '' : typeof value === 'number' && Number.isFinite(value)
}

function fromHeader(
  { header, match }: { header: string; match: Pattern | undefined },
  { answer, href, baseUrl }: Pick<Sent, 'href' | 'baseUrl'> & { answer: Pick<HttpAnswer, 'headers'> },
): string | undefined {
  const value = answer.headers[header]
  if (value === undefined || value === '') return undefined
  if (match) return match.match(value)?.[1]
  // A place behind a proxy may name another host: it is kept as a place on the configured one. `Location: 7/status` is relative
  // to the request; in other headers such a text is an id.
  if (header.endsWith('location')) return rebase(URL.canParse(value, href) ? new URL(value, href).href : value, baseUrl)
  return isPlace(value) ? rebase(value, baseUrl) : value
}
