import type { OperationContext } from '../define/index.js'
import { DefinitionError, InputError } from '../errors/index.js'
import {
  checkBaseUrl,
  configuredUrl,
  type Headers,
  type HeaderValue,
  type HttpAnswer,
  rebase,
  responseUrl,
  type TrustedUrl,
} from '../http/index.js'
import { type Compiled, compileExpression } from './expression.js'
import { compilePattern, type Pattern } from './pattern.js'
import { type StateTable, stateTable } from './states.js'
import { lookUp, onlyPlaceholder, placeholdersIn, render, renderPath, type Scope } from './template.js'
import type { ExpressionVariables, HttpRef, RefSource, RequestDefinition, Requests } from './types.js'

/** What all requests of a definition share. */
export interface Connection {
  baseUrl: string
  headers: Record<string, HeaderValue>
}

type CompiledRefSource = { expression: Compiled } | { header: string; match: Pattern | undefined }

/** A request that is ready to be sent. */
export interface CompiledRequest {
  definition: RequestDefinition
  when: Compiled | undefined
  ref: [name: string, source: CompiledRefSource][]
  value: Compiled | undefined
  status: Compiled[] | undefined
  states: StateTable | undefined
  message: Compiled | undefined
}

function listOf<T>(value: T | T[]): T[] {
  return Array.isArray(value) ? value : [value]
}

/** The sources of a request's ref members; `id` is short for `ref: { id }`. */
export function refSources(definition: RequestDefinition): [name: string, source: RefSource][] {
  const members = Object.entries(definition.ref ?? {})
  return definition.id === undefined ? members : [['id', definition.id], ...members]
}

function compileSource(source: RefSource): CompiledRefSource {
  if (typeof source === 'string' || typeof source === 'function') return { expression: compileExpression(source) }
  return {
    header: source.header.toLowerCase(),
    match: source.match === undefined ? undefined : compilePattern(source.match),
  }
}

const optional = (expression: RequestDefinition['value']) =>
  expression === undefined ? undefined : compileExpression(expression)

/** Compiles one request or a list. @throws Error for an expression or a pattern that is wrong. */
export function compileRequests(requests: Requests, caseInsensitive = false): CompiledRequest[] {
  return listOf(requests).map((definition) => ({
    definition,
    when: optional(definition.when),
    ref: refSources(definition).map(([name, source]) => [name, compileSource(source)]),
    value: optional(definition.value),
    status: definition.status === undefined ? undefined : listOf(definition.status).map(compileExpression),
    states: definition.states && stateTable(definition.states, caseInsensitive),
    message: optional(definition.message),
  }))
}

/** JSONata's notion of true: an empty text, list or object is false. */
function holds(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holds)
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}

/** The first request whose `when` holds. */
export async function choose(
  requests: readonly CompiledRequest[],
  body: unknown,
  variables: ExpressionVariables,
): Promise<CompiledRequest | undefined> {
  for (const request of requests) if (!request.when || holds(await request.when(body, variables))) return request
  return undefined
}

/** @throws DefinitionError naming a variable that is not set. */
function requireEnv(value: unknown): void {
  for (const [root, name] of placeholdersIn(value)) {
    if (root !== 'env' || (name !== undefined && process.env[name])) continue
    throw new DefinitionError({
      field: `environment variable ${name}`,
      problem: 'is not set',
      remedy: 'Set it where this server runs.',
    })
  }
}

/** The scope with the environment in it. */
const withEnv = (scope: Scope): Scope => ({ ...scope, env: process.env })

function renderBaseUrl(baseUrl: string): string {
  requireEnv(baseUrl)
  return checkBaseUrl(render(baseUrl, withEnv({})))
}

function headerText(name: string, value: string, scope: Scope): string | undefined {
  requireEnv(value)
  const text = render(value, withEnv(scope))
  if (text === undefined) return undefined
  if (/[\r\n\0]/.test(String(text))) throw new InputError(`header ${name}`, 'must be one line of text')
  return String(text)
}

/** One function for each text: the client renews credentials once for all requests that share a function. */
const envHeaders = new Map<string, () => string | undefined>()

function envHeader(name: string, value: string): () => string | undefined {
  const known = envHeaders.get(value) ?? (() => headerText(name, value, {}))
  envHeaders.set(value, known)
  return known
}

/** Values with `{env.*}` become functions: the client takes what functions give for secrets. */
function renderHeaders(headers: Record<string, HeaderValue>, scope: Scope): Headers {
  const entries = Object.entries(headers).map(([name, value]): [string, HeaderValue] => {
    if (typeof value !== 'string') return [name, value]
    const roots = placeholdersIn(value).map(([root]) => root)
    if (!roots.includes('env')) return [name, headerText(name, value, scope)]
    requireEnv(value)
    return [name, roots.every((root) => root === 'env') ? envHeader(name, value) : () => headerText(name, value, scope)]
  })
  return Object.fromEntries(entries)
}

function urlOf(request: RequestDefinition, baseUrl: string, scope: Scope): TrustedUrl {
  const { path } = request
  const placeholder = onlyPlaceholder(path)
  const value = placeholder && lookUp(scope, placeholder)
  if (placeholder?.[0] === 'ref' && typeof value === 'string' && /^(https?:\/)?\//.test(value)) {
    // The upstream itself named this place when the job was made. It is followed on the configured origin only.
    return responseUrl(rebase(value, baseUrl), { base: baseUrl, elsewhere: 'refuse', template: path })
  }
  const query = render(request.query ?? {}, scope) as Record<string, unknown>
  return configuredUrl({ baseUrl, path: renderPath(path, scope), query })
}

/**
 * Sends a request.
 * @throws UpstreamError from the client; InputError for a value that cannot be sent; DefinitionError for a missing variable.
 */
export function sendRequest(
  { definition }: CompiledRequest,
  connection: Connection,
  scope: Scope,
  ctx: Pick<OperationContext, 'http'>,
  timeoutMs: number | undefined,
): Promise<HttpAnswer> {
  const home = renderBaseUrl(connection.baseUrl)
  const baseUrl = definition.baseUrl === undefined ? home : renderBaseUrl(definition.baseUrl)
  // The headers of the definition are meant for its own origin; another one gets only what its request says.
  const shared = new URL(baseUrl).origin === new URL(home).origin ? connection.headers : {}
  requireEnv([definition.body, definition.form, definition.query])
  const full = withEnv(scope)
  return ctx.http.send({
    url: urlOf(definition, baseUrl, full),
    method: definition.method ?? 'GET',
    headers: renderHeaders({ ...shared, ...definition.headers }, scope),
    ...(definition.body === undefined ? {} : { json: render(definition.body, full) }),
    ...(definition.form === undefined ? {} : { form: render(definition.form, full) as Record<string, unknown> }),
    ...(definition.accept === undefined ? {} : { accept: definition.accept }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
}

/** The ref members that an answer holds. What is not there is left out. */
export async function readRef(
  request: CompiledRequest,
  answer: HttpAnswer,
  variables: ExpressionVariables,
  baseUrl: string,
): Promise<HttpRef> {
  const found: HttpRef = {}
  for (const [name, source] of request.ref) {
    const value =
      'header' in source ? fromHeader(source, answer, baseUrl) : await source.expression(answer.body, variables)
    if (typeof value === 'string' ? value !== '' : typeof value === 'number' && Number.isFinite(value)) {
      found[name] = value as string | number
    }
  }
  return found
}

function fromHeader(
  source: { header: string; match: Pattern | undefined },
  answer: HttpAnswer,
  baseUrl: string,
): string | undefined {
  const value = answer.headers[source.header]
  if (value === undefined) return undefined
  if (source.match) return source.match.match(value)?.[1]
  // A place behind a proxy may name another host: it is kept as a place on the configured one.
  return /^(https?:\/)?\//.test(value) ? rebase(value, renderBaseUrl(baseUrl)) : value
}
