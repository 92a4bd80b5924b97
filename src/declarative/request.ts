import type { HttpAnswer, HttpClient, TrustedUrl } from '../http/index.js'
import { configuredUrl, pathSegment, rebase, responseUrl } from '../http/index.js'
import { queryText } from '../http/url.js'
import {
  type CompiledHeaders,
  compileBaseUrl,
  compileHeaders,
  envNames,
  readEnv,
  renderHeaders,
  withEnv,
} from './connection.js'
import { type Compiled, compileExpression } from './expression.js'
import { type CompiledRefSource, compileRefSource, isPlace, refSources } from './ref.js'
import { type StateTable, stateTable } from './states.js'
import {
  compilePath,
  compileTemplate,
  lookUp,
  onlyPlaceholder,
  type Placeholder,
  placeholdersIn,
  type Scope,
  type Template,
} from './template.js'
import type { Expression, ExpressionVariables, HttpJobDefinition, RequestDefinition, Requests } from './types.js'

/** A request that is ready to be sent. */
export interface CompiledRequest {
  /** What messages call it. */
  readonly method: string
  readonly path: string
  readonly accept: readonly number[] | undefined
  readonly when: Compiled | undefined
  readonly ref: readonly (readonly [name: string, source: CompiledRefSource])[]
  readonly value: Compiled | undefined
  readonly status: Compiled[] | undefined
  readonly states: StateTable | undefined
  readonly message: Compiled | undefined
  /** Members of the ref that its placeholders name. */
  readonly needs: readonly string[]
  /** True for a result that is asked for as text: of a long one the end is kept. */
  readonly isLog: boolean
  /**
   * Sends it.
   * @throws UpstreamError from the client; InputError for a value that cannot be sent; DefinitionError for a missing variable.
   */
  readonly send: (scope: Scope, http: HttpClient, timeoutMs: number | undefined) => Promise<Sent>
}

/** An answer, and where it came from. */
export interface Sent {
  readonly answer: HttpAnswer
  /** The URL of the request. */
  readonly href: string
  /** The base URL of the request. */
  readonly baseUrl: string
}

/** Where compiled requests belong. */
export interface RequestContext {
  readonly definition: Pick<HttpJobDefinition, 'baseUrl' | 'headers' | 'caseInsensitive'>
  /** The definition's headers. Compiled once: what is known of a token's refusal is known by the function that gives it. */
  readonly shared: CompiledHeaders
  readonly isResult?: boolean
}

/** One request or several as a list. */
export function listOf<T>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? value : [value as T]
}

/** The parts of a request that are filled in. */
export function filledParts({ path, query, headers, body, form }: RequestDefinition): unknown[] {
  return [path, query, headers, body, form]
}

/** Compiles one request or a list. @throws Error for an expression or a pattern that is wrong. */
export function compileRequests(requests: Requests, context: RequestContext): CompiledRequest[] {
  return listOf(requests).map((request) => compileRequest(request, context))
}

const optional = (expression: Expression | undefined) =>
  expression === undefined ? undefined : compileExpression(expression)

function compileRequest(request: RequestDefinition, context: RequestContext): CompiledRequest {
  const { definition, isResult = false } = context
  const { method = 'GET', path, accept, status, states } = request
  const isLog = isResult && asksForText(request)
  return {
    method,
    path,
    accept,
    when: optional(request.when),
    ref: refSources(request).map(([name, source]) => [name, compileRefSource(source)]),
    value: optional(request.value),
    status: status === undefined ? undefined : listOf(status).map(compileExpression),
    states: states && stateTable(states, definition.caseInsensitive),
    message: optional(request.message),
    needs: placeholdersIn(filledParts(request)).flatMap(([root, name]) =>
      root === 'ref' && name !== undefined ? [name] : [],
    ),
    isLog,
    send: compileSend(request, context, isLog),
  }
}

function asksForText({ headers = {}, value }: RequestDefinition): boolean {
  const accept = Object.entries(headers).find(([name]) => name.toLowerCase() === 'accept')?.[1]
  return value === undefined && typeof accept === 'string' && !/json/i.test(accept)
}

function compileSend(
  request: RequestDefinition,
  { definition, shared }: RequestContext,
  keepTail: boolean,
): CompiledRequest['send'] {
  const { method = 'GET', body, form, accept } = request
  const homeOf = compileBaseUrl(definition.baseUrl)
  const baseOf = request.baseUrl === undefined ? homeOf : compileBaseUrl(request.baseUrl)
  // The headers of the definition are meant for its own origin; another one gets only what its request says.
  const elsewhere = compileHeaders(request.headers)
  const atHome: CompiledHeaders = new Map([...shared, ...elsewhere])
  const urlOf = compileUrl(request)
  const [json, fields] = [optionalTemplate(body), optionalTemplate(form)]
  const names = envNames([body, form, request.query])
  // The client knows a whole header for a secret, and not the part that shares one with input: `{input.user}:{env.PASSWORD}`.
  const headerNames = envNames([request.headers, definition.headers])
  return async (scope, http, timeoutMs) => {
    const [home, baseUrl] = [homeOf(), baseOf()]
    const headers = new URL(baseUrl).origin === new URL(home).origin ? atHome : elsewhere
    const secrets = [...readEnv(names), ...headerNames.flatMap((name) => process.env[name]?.trim() ?? [])]
    const full = withEnv(scope)
    const url = urlOf(baseUrl, full)
    const answer = await http.send({
      url,
      method,
      headers: renderHeaders(headers, scope),
      ...(json ? { json: json(full) } : {}),
      ...(fields ? { form: fields(full) as Record<string, unknown> } : {}),
      ...(accept ? { accept } : {}),
      ...(secrets.length > 0 ? { secrets } : {}),
      ...(keepTail ? { keepTail } : {}),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    })
    return { answer, href: url.href, baseUrl }
  }
}

const optionalTemplate = (value: unknown): Template | undefined =>
  value === undefined ? undefined : compileTemplate(value)

function compileUrl({ path, query }: RequestDefinition): (baseUrl: string, scope: Scope) => TrustedUrl {
  const placeholder = onlyPlaceholder(path)
  const filledPath = compilePath(path)
  const filledQuery = compileTemplate(query ?? {})
  return (baseUrl, scope) => {
    const members = filledQuery(scope) as Record<string, unknown>
    const value = placeholder?.[0] === 'ref' ? lookUp(scope, placeholder) : undefined
    return placeholder && isPlace(value)
      ? urlOfPlace(value, placeholder, { baseUrl, path, search: queryText(members) })
      : configuredUrl({ baseUrl, path: filledPath(scope), query: members })
  }
}

/** The upstream itself named this place when the job was made. It is followed on the configured origin only. */
function urlOfPlace(
  place: string,
  placeholder: Placeholder,
  { baseUrl, path, search }: { baseUrl: string; path: string; search: string },
): TrustedUrl {
  const [pathname = ''] = place.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/)
  // Parsing a URL resolves dot segments, and a ref may hold what a caller chose.
  for (const segment of pathname.split('/')) if (segment !== '') pathSegment(segment, placeholder.join('.'))
  const href = rebase(place, baseUrl)
  const joint = search === '' ? '' : href.includes('?') ? '&' : '?'
  return responseUrl(`${href}${joint}${search}`, { base: baseUrl, elsewhere: 'refuse', template: path })
}

/** JSONata's notion of true: an empty text, list or object is false. */
function holds(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holds)
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}

/** The first request whose `when` holds. @throws Error when that cannot be told. */
export async function choose(
  requests: readonly CompiledRequest[],
  body: unknown,
  variables: ExpressionVariables,
): Promise<CompiledRequest | undefined> {
  for (const request of requests) if (!request.when || holds(await request.when(body, variables))) return request
  return undefined
}
