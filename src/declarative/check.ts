import type { Phase, ToolFacts } from '../define/index.js'
import { DefinitionError } from '../errors/index.js'
import { checkBaseUrl } from '../http/index.js'
import { OWN_VARIABLES } from './expression.js'
import { compilePattern } from './pattern.js'
import { refSources } from './request.js'
import { type Placeholder, placeholdersIn, ROOTS } from './template.js'
import type { HttpJobDefinition, RequestDefinition, Requests } from './types.js'

/* Everything about a definition that can be known to be wrong before a request is sent. */

const PHASES: readonly Phase[] = ['working', 'input_required', 'succeeded', 'failed', 'cancelled', 'gone', 'unknown']
const MEMBERS = [
  'baseUrl',
  'headers',
  'timeouts',
  'prepare',
  'create',
  'locate',
  'get',
  'also',
  'status',
  'states',
  'caseInsensitive',
  'message',
  'progress',
  'url',
  'error',
  'result',
  'cancel',
  'questions',
  'gone',
]
const REQUEST_MEMBERS = [
  'method',
  'path',
  'query',
  'headers',
  'body',
  'form',
  'baseUrl',
  'accept',
  'when',
  'id',
  'ref',
  'value',
  'status',
  'states',
  'message',
]
const QUESTION_MEMBERS = ['list', 'key', 'message', 'form', 'accept', 'decline']
const METHOD = /^[A-Z]{3,10}$/
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

function refuse(field: string, problem: string, remedy: string): never {
  throw new DefinitionError({ field: `job.${field}`, problem, remedy })
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function checkMembers(field: string, value: unknown, known: readonly string[]): void {
  if (!isObject(value)) refuse(field, 'is no object', 'See the manual at the top of adapters/http.ts.')
  const prefix = field === '' ? '' : `${field}.`
  for (const member of Object.keys(value)) {
    if (!known.includes(member))
      refuse(`${prefix}${member}`, 'is no member of a job description', `Members here are ${known.join(', ')}.`)
  }
}

const listOf = (requests: Requests): RequestDefinition[] => (Array.isArray(requests) ? requests : [requests])

/** All requests of a definition, with the names they have in messages. */
function allRequests(definition: HttpJobDefinition): [field: string, request: RequestDefinition, place: string][] {
  const { prepare, create, locate, get, also, cancel, questions, result } = definition
  const groups: [string, Requests | undefined][] = [
    ['prepare', prepare],
    ['create', create],
    ['locate', locate],
    ['get', get],
    ...Object.entries(also ?? {}).map(([name, given]): [string, Requests] => [`also.${name}`, given]),
    ['cancel', cancel],
    ['questions.accept', questions?.accept],
    ['questions.decline', questions?.decline],
    ['result', typeof result === 'object' ? result : undefined],
  ]
  return groups.flatMap(([name, given]) => {
    if (given === undefined) return []
    if (Array.isArray(given) && given.length === 0 && name !== 'prepare')
      refuse(name, 'is an empty list', 'Give at least one request.')
    return listOf(given).map((request, at): [string, RequestDefinition, string] => [
      Array.isArray(given) ? `${name}[${at}]` : name,
      request,
      name,
    ])
  })
}

/**
 * Checks a definition by itself.
 * @throws DefinitionError naming the member and the remedy.
 */
export function checkDefinition(definition: HttpJobDefinition): void {
  checkMembers('', definition, MEMBERS)
  for (const needed of ['baseUrl', 'create', 'get', 'status', 'states'] as const) {
    if (definition[needed] === undefined)
      refuse(needed, 'is missing', `A job description needs baseUrl, create, get, status and states.`)
  }
  checkBase('baseUrl', definition.baseUrl)
  checkHeaders('headers', definition.headers ?? {})
  checkTimeouts(definition.timeouts ?? {})
  for (const [field, request, place] of allRequests(definition)) checkRequest(field, request, place)
  checkStates('states', definition.states)
  checkIds(definition)
  checkRefs(definition)
  checkAlso(definition)
  if (definition.questions) checkMembers('questions', definition.questions, QUESTION_MEMBERS)
  for (const member of ['list', 'key', 'message', 'accept'] as const) {
    if (definition.questions && definition.questions[member] === undefined)
      refuse(`questions.${member}`, 'is missing', 'Questions need list, key, message and accept.')
  }
  if (definition.gone) checkMembers('gone', definition.gone, ['status', 'body'])
}

function checkBase(field: string, baseUrl: unknown): void {
  if (typeof baseUrl !== 'string') refuse(field, 'is no text', 'Write it like "https://farm.example/api".')
  const placeholders = placeholdersIn(baseUrl)
  const other = placeholders.find(([root]) => root !== 'env')
  if (other)
    refuse(
      field,
      `holds {${other.join('.')}}, but only {env.NAME} may decide where requests go`,
      'Move it to the path or the query.',
    )
  if (placeholders.length > 0) return
  checkBaseUrl(baseUrl, `job.${field}`)
}

function checkHeaders(field: string, headers: Record<string, unknown>): void {
  if (!isObject(headers)) refuse(field, 'is no object', 'Give header values by name.')
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) refuse(`${field}.${name}`, 'is no header name', 'Use letters, digits and dashes.')
    if (value !== undefined && typeof value !== 'string' && typeof value !== 'function') {
      refuse(`${field}.${name}`, 'is neither text nor a function', 'Give a text, or a function that returns one.')
    }
    if (typeof value === 'string') checkPlaceholders(`${field}.${name}`, value, ['input', 'ref', 'key', 'env'])
  }
}

function checkTimeouts(timeouts: Record<string, unknown>): void {
  checkMembers('timeouts', timeouts, ['create', 'get', 'cancel', 'answer', 'result'])
  for (const [name, value] of Object.entries(timeouts)) {
    if (value !== undefined && !(Number.isInteger(value) && (value as number) > 0)) {
      refuse(`timeouts.${name}`, `${String(value)} is not allowed`, 'Give a whole number of milliseconds above 0.')
    }
  }
}

/** Which placeholders make sense where. */
function rootsFor(place: string): readonly string[] {
  const always = ['input', 'ref', 'key', 'env']
  if (place === 'prepare' || place === 'create' || place === 'locate') return [...always, 'ask']
  return place.startsWith('questions.') ? [...always, 'question', 'answer'] : always
}

function checkPlaceholders(field: string, value: unknown, roots: readonly string[]): void {
  for (const placeholder of placeholdersIn(value)) {
    const [root, ...members] = placeholder
    const text = `{${placeholder.join('.')}}`
    if (!(ROOTS as readonly string[]).includes(root)) {
      refuse(
        field,
        `holds ${text}, whose root "${root}" is unknown`,
        `Roots are ${ROOTS.join(', ')}; write {${text}} for literal braces.`,
      )
    }
    if (!roots.includes(root))
      refuse(field, `holds ${text}, and there is no "${root}" at this place`, `Here you can use ${roots.join(', ')}.`)
    if (root === 'env' && members.length !== 1) refuse(field, `holds ${text}`, 'Write {env.NAME}.')
    if (root === 'ask' && members.length !== 2) refuse(field, `holds ${text}`, 'Write {ask.KEY.FIELD}.')
  }
}

function checkRequest(field: string, request: RequestDefinition, place: string): void {
  checkMembers(field, request, REQUEST_MEMBERS)
  const { method, path, query, headers, body, form, baseUrl, accept, states } = request
  if (typeof path !== 'string') refuse(`${field}.path`, 'is missing', 'Give the path below baseUrl, such as "/jobs".')
  if (method !== undefined && !METHOD.test(String(method)))
    refuse(`${field}.method`, `"${String(method)}" is no HTTP method`, 'Write it in capitals, such as "POST".')
  if (body !== undefined && form !== undefined)
    refuse(`${field}.form`, 'stands beside `body`', 'A request has one body: keep one of the two.')
  if ((body !== undefined || form !== undefined) && (method ?? 'GET') === 'GET') {
    refuse(`${field}.body`, 'goes with a GET, which carries none', 'Give the method, such as method: "POST".')
  }
  if (baseUrl !== undefined) checkBase(`${field}.baseUrl`, baseUrl)
  if (headers !== undefined) checkHeaders(`${field}.headers`, headers)
  if (
    accept !== undefined &&
    !(Array.isArray(accept) && accept.every((status) => Number.isInteger(status) && status >= 100 && status < 600))
  ) {
    refuse(`${field}.accept`, 'is no list of HTTP statuses', 'Write it like [409, 422].')
  }
  if (states !== undefined) checkStates(`${field}.states`, states)
  const roots = rootsFor(place)
  checkPlaceholders(`${field}.path`, path, roots)
  if (placeholdersIn(path).some(([root]) => root === 'env'))
    refuse(`${field}.path`, 'holds {env.*}', 'A path may be logged: use a header, or baseUrl.')
  checkPlaceholders(`${field}.query`, query, roots)
  checkPlaceholders(`${field}.body`, body, roots)
  checkPlaceholders(`${field}.form`, form, roots)
  for (const [name, source] of refSources(request))
    checkSource(`${field}.${name === 'id' ? 'id' : `ref.${name}`}`, source)
}

function checkSource(field: string, source: unknown): void {
  if (typeof source === 'string' || typeof source === 'function') return
  if (!isObject(source) || typeof source.header !== 'string')
    refuse(field, 'is neither an expression nor { header, match? }', 'Write it like "id" or { header: "location" }.')
  if (source.match === undefined) return
  let groups: number
  try {
    groups = compilePattern(String(source.match)).groups
  } catch (error) {
    refuse(
      `${field}.match`,
      `is no regular expression: ${error instanceof Error ? error.message : String(error)}`,
      'Patterns are RE2: no look-around, no back-references.',
    )
  }
  if (groups === 0) refuse(`${field}.match`, 'has no group', 'Put the part that is the id in parentheses.')
}

function checkStates(field: string, states: unknown): void {
  if (!isObject(states) || Object.keys(states).length === 0)
    refuse(field, 'is empty', 'List the words of the upstream, each with its phase.')
  for (const [word, phase] of Object.entries(states)) {
    if (PHASES.includes(phase as Phase)) continue
    refuse(`${field}.${word}`, `"${String(phase)}" is no phase`, `Phases are ${PHASES.slice(0, 5).join(', ')}.`)
  }
}

function checkIds(definition: HttpJobDefinition): void {
  const identifies = (requests: Requests | undefined) =>
    requests !== undefined && listOf(requests).every((request) => refSources(request).length > 0)
  if (definition.locate !== undefined && !identifies(definition.locate))
    refuse('locate', 'finds no id', 'Say where the id is: id, or ref: { ... }.')
  if (!identifies(definition.create) && definition.locate === undefined) {
    refuse(
      'create',
      'returns no id, and there is no `locate` step',
      'Say where the id is (id, or ref), or add a `locate` request that finds the job.',
    )
  }
}

/** Ref members that some request gives. */
function checkRefs(definition: HttpJobDefinition): void {
  const given = new Set(allRequests(definition).flatMap(([, request]) => refSources(request).map(([name]) => name)))
  for (const [field, { path, query, headers, body, form }] of allRequests(definition)) {
    for (const [root, member] of placeholdersIn([path, query, headers, body, form])) {
      if (root === 'ref' && member !== undefined && !given.has(member)) {
        refuse(
          field,
          `holds {ref.${member}}, which no request gives`,
          `Members of the ref are ${[...given].join(', ')}.`,
        )
      }
    }
  }
}

function checkAlso(definition: HttpJobDefinition): void {
  for (const name of Object.keys(definition.also ?? {})) {
    if (!/^[A-Za-z_]\w*$/.test(name) || OWN_VARIABLES.has(name))
      refuse(`also.${name}`, 'is no free name', `Use letters, and none of ${[...OWN_VARIABLES].join(', ')}.`)
  }
}

type Schema = Record<string, unknown>

/** Whether a schema certainly has no such member. Anything it does not spell out may exist. */
function certainlyAbsent(schema: unknown, members: readonly string[]): boolean {
  const [member, ...rest] = members
  if (member === undefined || !isObject(schema)) return false
  const { type, properties, additionalProperties, patternProperties } = schema as Schema
  const open =
    ['$ref', 'anyOf', 'oneOf', 'allOf', 'if'].some((name) => name in schema) || patternProperties !== undefined
  if (open || (type !== undefined && type !== 'object') || !isObject(properties)) return false
  if (Object.hasOwn(properties, member)) return certainlyAbsent(properties[member], rest)
  // Zod's objects drop what they do not know, and say so in one of two ways.
  return additionalProperties === undefined || additionalProperties === false
}

/**
 * Checks a definition against the tool it is used in.
 * @throws DefinitionError for a placeholder that the tool's input certainly has not, or `{ask.*}` without `ask`.
 */
export function checkTool(definition: HttpJobDefinition, facts: ToolFacts): void {
  const found: [string, Placeholder][] = allRequests(definition).flatMap(
    ([field, { path, query, headers, body, form }]) =>
      placeholdersIn([path, query, headers, body, form]).map((placeholder): [string, Placeholder] => [
        field,
        placeholder,
      ]),
  )
  for (const [field, [root, ...members]] of found) {
    if (root === 'input' && certainlyAbsent(facts.inputSchema, members)) {
      const known = Object.keys((facts.inputSchema?.properties as Schema | undefined) ?? {}).join(', ')
      throw new DefinitionError({
        tool: facts.tool,
        field: `job.${field}`,
        problem: `holds {input.${members.join('.')}}, which the input does not have`,
        remedy: `The input has ${known || 'no members'}.`,
      })
    }
    if (root === 'ask' && !facts.asks) {
      throw new DefinitionError({
        tool: facts.tool,
        field: `job.${field}`,
        problem: `holds {ask.${members.join('.')}}, and the tool asks nothing`,
        remedy: 'Give the tool an `ask` function, or take the placeholder out.',
      })
    }
  }
}
