import { compileHeaders } from './connection.js'
import { type Compiled, compileExpression } from './expression.js'
import { compilePattern } from './pattern.js'
import { type CompiledQuestions, compileQuestions } from './questions.js'
import { type CompiledRequest, compileRequests, listOf } from './request.js'
import { type StateTable, stateTable } from './states.js'
import type { Expression, HttpJobDefinition, Requests } from './types.js'

/** A definition that is ready to run. */
export interface CompiledJob {
  readonly timeouts: NonNullable<HttpJobDefinition['timeouts']>
  readonly prepare: readonly CompiledRequest[]
  readonly create: readonly CompiledRequest[]
  readonly locate: readonly CompiledRequest[] | undefined
  readonly get: readonly CompiledRequest[]
  readonly also: readonly (readonly [name: string, requests: readonly CompiledRequest[]])[]
  readonly status: readonly Compiled[]
  readonly states: StateTable
  readonly message: Compiled | undefined
  readonly progress: Compiled | undefined
  readonly url: Compiled | undefined
  readonly error: Compiled | undefined
  readonly result: Compiled | readonly CompiledRequest[] | undefined
  readonly cancel: readonly CompiledRequest[] | undefined
  readonly questions: CompiledQuestions | undefined
  readonly isGone: GoneTest
}

/**
 * Whether an answer means that the job does not exist.
 * @param texts the body, perhaps in several layouts.
 * @param accepted statuses that the request takes for an answer like any other.
 */
type GoneTest = (status: number, texts: readonly string[], accepted: readonly number[] | undefined) => boolean

const GONE_STATUSES = [404, 410]

function goneTest(rule: HttpJobDefinition['gone']): GoneTest {
  if (!rule) return (status, _texts, accepted) => GONE_STATUSES.includes(status) && !accepted?.includes(status)
  const statuses = listOf(rule.status)
  const pattern = rule.body === undefined ? undefined : compilePattern(rule.body)
  return (status, texts) => statuses.includes(status) && (!pattern || texts.some((text) => pattern.match(text)))
}

/** Compiles a definition that was checked. */
export function compileJob(definition: HttpJobDefinition): CompiledJob {
  const {
    timeouts = {},
    prepare = [],
    locate,
    also = {},
    states,
    caseInsensitive,
    cancel,
    questions,
    result,
  } = definition
  const one = (expression: Expression | undefined) =>
    expression === undefined ? undefined : compileExpression(expression)
  const context = { definition, shared: compileHeaders(definition.headers) }
  const several = (requests: Requests) => compileRequests(requests, context)
  return {
    timeouts,
    prepare: several(prepare),
    create: several(definition.create),
    locate: locate && several(locate),
    get: several(definition.get),
    also: Object.entries(also).map(([name, given]) => [name, several(given)]),
    status: listOf(definition.status).map(compileExpression),
    states: stateTable(states, caseInsensitive),
    message: one(definition.message),
    progress: one(definition.progress),
    url: one(definition.url),
    error: one(definition.error),
    result: typeof result === 'object' ? compileRequests(result, { ...context, isResult: true }) : one(result),
    cancel: cancel && several(cancel),
    questions: questions && compileQuestions(questions, context),
    isGone: goneTest(definition.gone),
  }
}
