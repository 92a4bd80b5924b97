import { safePath } from '../http/index.js'
import {
  checkBase,
  checkExpression,
  checkHeaders,
  checkMembers,
  checkPattern,
  checkPlaceholders,
  checkStates,
  checkStatuses,
  isHttpStatus,
  refuse,
} from './check-parts.js'
import type { Inspected } from './inspect.js'
import { refSources } from './ref.js'
import { hasStrayBraces, isPlain, parseTemplate, placeholdersIn } from './template.js'
import type { HttpJobDefinition, RequestDefinition, Requests } from './types.js'

/* Checks of single requests, by the place they stand at. */

/** Where a request stands. */
export type RequestPlace =
  | 'prepare'
  | 'create'
  | 'locate'
  | 'get'
  | 'also'
  | 'cancel'
  | 'questions.accept'
  | 'questions.decline'
  | 'result'

/** A request, with its name in messages. */
export interface PlacedRequest {
  readonly field: string
  readonly request: RequestDefinition
  readonly place: RequestPlace
}

/** An expression, with its name in messages and what it refers to. */
export interface PlacedExpression {
  readonly field: string
  readonly place: RequestPlace | undefined
  readonly inspected: Inspected
}

const EVERYWHERE = ['method', 'path', 'query', 'headers', 'body', 'form', 'baseUrl', 'accept', 'when']
const IDS = [...EVERYWHERE, 'id', 'ref']
const MEMBERS: Record<RequestPlace, readonly string[]> = {
  prepare: IDS,
  create: IDS,
  locate: IDS,
  get: [...IDS, 'status', 'states', 'message'],
  also: EVERYWHERE,
  cancel: EVERYWHERE,
  'questions.accept': IDS,
  'questions.decline': IDS,
  result: [...EVERYWHERE, 'value'],
}
/** They change something, which a request with no method would not. */
const CHANGING: readonly RequestPlace[] = ['create', 'cancel', 'questions.accept', 'questions.decline']
/** They must not be sent twice, and a GET may be. */
const ONCE: readonly RequestPlace[] = ['create', 'questions.accept', 'questions.decline']
const METHOD = /^[A-Z]{3,10}$/
/** Named by placeholders, so without dots; and no name of the prototype chain. */
const REF_MEMBER = /^[A-Za-z]\w*$/

/** All requests of a definition. */
export function requestsOf(definition: HttpJobDefinition): PlacedRequest[] {
  const { prepare, create, locate, get, also, cancel, questions, result } = definition
  if (also !== undefined && !isPlain(also)) refuse('also', 'is no object', 'Give requests by name.')
  const groups: [field: string, place: RequestPlace, Requests | undefined][] = [
    ['prepare', 'prepare', prepare],
    ['create', 'create', create],
    ['locate', 'locate', locate],
    ['get', 'get', get],
    ...Object.entries(also ?? {}).map(([name, given]): [string, 'also', Requests] => [`also.${name}`, 'also', given]),
    ['cancel', 'cancel', cancel],
    ['questions.accept', 'questions.accept', questions?.accept],
    ['questions.decline', 'questions.decline', questions?.decline],
    ['result', 'result', typeof result === 'object' ? result : undefined],
  ]
  return groups.flatMap(([field, place, given]) => {
    if (given === undefined) return []
    if (!Array.isArray(given)) return { field, place, request: given }
    if (given.length === 0 && place !== 'prepare') refuse(field, 'is an empty list', 'Give at least one request.')
    return given.map((request, at) => ({ field: `${field}[${at}]`, place, request }))
  })
}

/** The roots that placeholders may have at a place. */
function rootsAt(place: RequestPlace): readonly string[] {
  const always = ['input', 'ref', 'key', 'env']
  if (place === 'prepare' || place === 'create' || place === 'locate') return [...always, 'ask']
  return place === 'questions.accept' || place === 'questions.decline' ? [...always, 'question', 'answer'] : always
}

/**
 * Checks one request by itself.
 * @returns its expressions.
 * @throws DefinitionError
 */
export function checkRequest({ field, request, place }: PlacedRequest, caseInsensitive: boolean): PlacedExpression[] {
  checkMembers(field, request, MEMBERS[place])
  const { query, headers, body, form, baseUrl, accept, states } = request
  checkMethod(field, request, place)
  checkPath(`${field}.path`, request.path, rootsAt(place))
  if (body !== undefined && form !== undefined)
    refuse(`${field}.form`, 'stands beside `body`', 'A request has one body: keep one of the two.')
  if (baseUrl !== undefined) checkBase(`${field}.baseUrl`, baseUrl)
  if (headers !== undefined) checkHeaders(`${field}.headers`, headers, rootsAt(place))
  for (const [name, value] of Object.entries({ query, form })) {
    if (value !== undefined && !isPlain(value)) refuse(`${field}.${name}`, 'is no object', 'Give values by name.')
    checkPlaceholders(`${field}.${name}`, value, rootsAt(place))
  }
  checkPlaceholders(`${field}.body`, body, rootsAt(place))
  if (accept !== undefined && !(Array.isArray(accept) && accept.every(isHttpStatus)))
    refuse(`${field}.accept`, 'is no list of HTTP statuses', 'Write it like [409, 422].')
  if (states !== undefined) checkStates(`${field}.states`, states, caseInsensitive)
  return expressionsOf(field, request, place)
}

function checkMethod(field: string, { method, body, form }: RequestDefinition, place: RequestPlace): void {
  const remedy = 'Give the method, such as method: "POST".'
  if (method !== undefined && !METHOD.test(String(method)))
    refuse(`${field}.method`, `"${String(method)}" is no HTTP method`, 'Write it in capitals, such as "POST".')
  if (method === undefined && CHANGING.includes(place)) refuse(`${field}.method`, 'is missing', remedy)
  if (method === undefined && (body !== undefined || form !== undefined))
    refuse(`${field}.${body === undefined ? 'form' : 'body'}`, 'goes with a GET, which mostly carries none', remedy)
  if ((method === 'GET' || method === 'HEAD') && ONCE.includes(place))
    refuse(`${field}.method`, `is ${method}, which may be sent again, and a second one may do it twice`, remedy)
}

function checkPath(field: string, path: unknown, roots: readonly string[]): void {
  if (typeof path !== 'string') refuse(field, 'is missing', 'Give the path below baseUrl, such as "/jobs".')
  checkPlaceholders(field, path, roots)
  if (placeholdersIn(path).some(([root]) => root === 'env'))
    refuse(field, 'holds {env.*}', 'A path may be logged: use a header, or baseUrl.')
  if (hasStrayBraces(path))
    refuse(field, 'has braces that are no placeholder', 'Write placeholders like {ref.id}, without spaces.')
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(path))
    refuse(field, 'is a whole URL', 'Put its origin into `baseUrl` of this request, and the path here.')
  // What is wrong in the path itself shows now, and not with each request.
  safePath(
    parseTemplate(path).map((part) => ('literal' in part ? part : { value: 'x', field: part.placeholder.join('.') })),
    path,
  )
}

function expressionsOf(field: string, request: RequestDefinition, place: RequestPlace): PlacedExpression[] {
  const { id, ref, when, value, message, status } = request
  if (id !== undefined && ref !== undefined && Object.hasOwn(ref, 'id'))
    refuse(`${field}.ref.id`, 'stands beside `id`, which is short for it', 'Keep one of the two.')
  if (ref !== undefined && !isPlain(ref)) refuse(`${field}.ref`, 'is no object', 'Give expressions by name.')
  const placed = (name: string, inspected: Inspected | undefined): PlacedExpression[] =>
    inspected ? [{ field: `${field}.${name}`, place, inspected }] : []
  return [
    ...refSources(request).flatMap(([name, source]) => {
      const member = name === 'id' && id !== undefined ? 'id' : `ref.${name}`
      if (!REF_MEMBER.test(name)) refuse(`${field}.${member}`, 'is no name for a member', 'Use letters and digits.')
      return placed(member, checkSource(`${field}.${member}`, source))
    }),
    ...Object.entries({ when, value, message }).flatMap(([name, expression]) =>
      expression === undefined ? [] : placed(name, checkExpression(`${field}.${name}`, expression)),
    ),
    ...(status === undefined ? [] : checkStatuses(`${field}.status`, status)).flatMap((inspected) =>
      placed('status', inspected),
    ),
  ]
}

function checkSource(field: string, source: unknown): Inspected | undefined {
  if (typeof source === 'string' || typeof source === 'function') return checkExpression(field, source)
  if (!isPlain(source) || typeof source.header !== 'string')
    refuse(field, 'is neither an expression nor { header, match? }', 'Write it like "id" or { header: "location" }.')
  checkMembers(field, source, ['header', 'match'])
  if (source.match !== undefined && checkPattern(`${field}.match`, source.match) === 0)
    refuse(`${field}.match`, 'has no group', 'Put the part that is the id in parentheses.')
  return undefined
}
