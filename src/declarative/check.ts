import type { FormField } from '../define/index.js'
import {
  checkBase,
  checkExpression,
  checkHeaders,
  checkMembers,
  checkPattern,
  checkStates,
  checkStatuses,
  checkTimeouts,
  isHttpStatus,
  refuse,
  written,
} from './check-parts.js'
import {
  checkRequest,
  type PlacedExpression,
  type PlacedRequest,
  type RequestPlace,
  requestsOf,
} from './check-request.js'
import { FUNCTIONS } from './inspect.js'
import { refSources } from './ref.js'
import { filledParts, listOf } from './request.js'
import { isPlain, placeholdersIn } from './template.js'
import type { HttpJobDefinition, QuestionsDefinition, Requests } from './types.js'

/* Everything about a definition that can be known to be wrong before a request is sent, and without its tool. */

const MEMBERS = [
  ...['baseUrl', 'headers', 'timeouts', 'prepare', 'create', 'locate', 'get', 'also', 'status', 'states'],
  ...['caseInsensitive', 'message', 'progress', 'url', 'error', 'result', 'cancel', 'questions', 'gone'],
]
const NEEDED = ['baseUrl', 'create', 'get', 'status', 'states'] as const
/** What expressions see; see `ExpressionVariables`. */
const VARIABLES = ['status', 'headers', 'ref', 'input', 'key', 'cancelRequested']
const FIELD_TYPES: readonly unknown[] = [
  'string',
  'number',
  'integer',
  'boolean',
  'array',
] satisfies FormField['type'][]
/** These run before the job exists. */
const BEFORE: readonly (RequestPlace | undefined)[] = ['prepare', 'create', 'locate']

/** A definition that holds, and what its expressions refer to. */
export interface CheckedDefinition {
  readonly requests: readonly PlacedRequest[]
  readonly expressions: readonly PlacedExpression[]
}

/**
 * Checks a definition by itself.
 * @throws DefinitionError naming the member and the remedy.
 */
export function checkDefinition(definition: HttpJobDefinition): CheckedDefinition {
  checkMembers('', definition, MEMBERS)
  for (const needed of NEEDED) {
    if (definition[needed] === undefined) refuse(needed, 'is missing', `A job description needs ${NEEDED.join(', ')}.`)
  }
  const { headers = {}, timeouts = {}, caseInsensitive = false, questions, gone } = definition
  if (typeof caseInsensitive !== 'boolean') refuse('caseInsensitive', 'is neither true nor false', 'Give one of them.')
  checkBase('baseUrl', definition.baseUrl)
  checkHeaders('headers', headers, ['input', 'ref', 'key', 'env'])
  checkTimeouts(timeouts)
  checkStates('states', definition.states, caseInsensitive)
  if (questions !== undefined) checkQuestions(questions)
  const requests = requestsOf(definition)
  const expressions = [
    ...requests.flatMap((placed) => checkRequest(placed, caseInsensitive)),
    ...ownExpressions(definition),
  ]
  if (gone !== undefined) checkGone(gone)
  checkIds(definition)
  checkAlso(definition)
  checkVariables(definition, expressions)
  checkRefs(definition, requests, expressions)
  return { requests, expressions }
}

function ownExpressions(definition: HttpJobDefinition): PlacedExpression[] {
  const { message, progress, url, error, result, questions } = definition
  const whole = { message, progress, url, error, ...(typeof result === 'object' ? {} : { result }) }
  const form = isPlain(questions?.form) ? undefined : questions?.form
  const ofQuestions = questions && { list: questions.list, key: questions.key, message: questions.message, form }
  const fields: [string, unknown][] = [
    ...Object.entries(whole),
    ...Object.entries(ofQuestions ?? {}).map(([name, value]): [string, unknown] => [`questions.${name}`, value]),
  ]
  const inspected = fields.flatMap(([field, expression]) => {
    const found = expression === undefined ? undefined : checkExpression(field, expression)
    return found ? [{ field, place: undefined, inspected: found }] : []
  })
  const statuses = checkStatuses('status', definition.status)
  return [...inspected, ...statuses.map((found) => ({ field: 'status', place: undefined, inspected: found }))]
}

function checkQuestions(questions: QuestionsDefinition): void {
  checkMembers('questions', questions, ['list', 'key', 'message', 'form', 'accept', 'decline'])
  for (const member of ['list', 'key', 'message', 'accept'] as const) {
    if (questions[member] === undefined)
      refuse(`questions.${member}`, 'is missing', 'Questions need list, key, message and accept.')
  }
  const { form, accept, decline } = questions
  if (!isPlain(form)) return
  for (const [name, field] of Object.entries(form)) {
    if (!isPlain(field) || !FIELD_TYPES.includes(field.type))
      refuse(`questions.form.${name}`, 'has no type that a form can have', `Types are ${FIELD_TYPES.join(', ')}.`)
  }
  for (const [member, requests] of Object.entries({ accept, decline })) {
    const stranger = placeholdersIn(requests === undefined ? [] : listOf(requests).map(filledParts)).find(
      ([root, name]) => root === 'answer' && name !== undefined && !Object.hasOwn(form, name),
    )
    if (stranger)
      refuse(
        `questions.${member}`,
        `holds ${written(stranger)}, which is no field of the form`,
        `Its fields are ${Object.keys(form).join(', ')}.`,
      )
  }
}

function checkGone(gone: unknown): void {
  checkMembers('gone', gone, ['status', 'body'])
  const statuses = listOf(gone.status)
  if (statuses.length === 0 || !statuses.every(isHttpStatus))
    refuse('gone.status', 'is no HTTP status', 'Give one, or a list: [404, 410].')
  if (gone.body !== undefined) checkPattern('gone.body', gone.body)
}

function checkIds({ create, locate }: HttpJobDefinition): void {
  const identifies = (requests: Requests | undefined) =>
    requests !== undefined && listOf(requests).every((request) => refSources(request).length > 0)
  if (locate !== undefined && !identifies(locate))
    refuse('locate', 'finds no id', 'Say where the id is: id, or ref: { ... }.')
  if (!identifies(create) && locate === undefined)
    refuse(
      'create',
      'returns no id, and there is no `locate` step',
      'Say where the id is (id, or ref), or add a `locate` request that finds the job.',
    )
}

function checkAlso({ also = {} }: HttpJobDefinition): void {
  for (const name of Object.keys(also)) {
    if (!/^[A-Za-z]\w*$/.test(name)) refuse(`also.${name}`, 'is no name for a variable', 'Use letters and digits.')
    if (VARIABLES.includes(name) || FUNCTIONS.has(name))
      refuse(`also.${name}`, `is taken: $${name} is something else`, 'Choose another name.')
  }
}

/** JSONata takes an unknown variable for an absent value, so that a misspelt one would never show. */
function checkVariables({ also = {} }: HttpJobDefinition, expressions: readonly PlacedExpression[]): void {
  const known = [...VARIABLES, ...Object.keys(also)]
  for (const { field, inspected } of expressions) {
    const stranger = [...inspected.variables].find((name) => !known.includes(name))
    if (stranger !== undefined)
      refuse(
        field,
        `reads $${stranger}, which there is not`,
        `Variables are ${known.map((name) => `$${name}`).join(', ')}.`,
      )
  }
}

/** Members of the ref that no request gives can never be there. */
function checkRefs(
  definition: HttpJobDefinition,
  requests: readonly PlacedRequest[],
  expressions: readonly PlacedExpression[],
): void {
  const givenBy = (some: readonly PlacedRequest[]) =>
    new Set(some.flatMap(({ request }) => refSources(request).map(([name]) => name)))
  const early = givenBy(requests.filter(({ place }) => place === 'prepare'))
  const all = givenBy(requests)
  const check = (field: string, place: RequestPlace | undefined, name: string | undefined, text: string) => {
    const given = BEFORE.includes(place) ? early : all
    if (name === undefined || given.has(name)) return
    const members = given.size === 0 ? 'There are none at this place.' : `Members are ${[...given].join(', ')}.`
    refuse(field, `holds ${text}, which no request${BEFORE.includes(place) ? ' before it' : ''} gives`, members)
  }
  for (const { field, place, request } of requests) {
    for (const placeholder of placeholdersIn(filledParts(request)))
      if (placeholder[0] === 'ref') check(field, place, placeholder[1], written(placeholder))
  }
  for (const placeholder of placeholdersIn(definition.headers))
    if (placeholder[0] === 'ref') check('headers', undefined, placeholder[1], written(placeholder))
  for (const { field, place, inspected } of expressions)
    for (const name of inspected.ref) check(field, place, name, `$ref.${name}`)
}
