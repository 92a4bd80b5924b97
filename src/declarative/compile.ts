import { DefinitionError } from '../errors/index.js'
import { type Compiled, compileExpression } from './expression.js'
import { compilePattern } from './pattern.js'
import type { CompiledQuestions } from './questions.js'
import { type CompiledRequest, type Connection, compileRequests } from './request.js'
import { type StateTable, stateTable } from './states.js'
import type { Expression, HttpJobDefinition, QuestionsDefinition } from './types.js'

export { checkDefinition, checkTool } from './check.js'

/** A definition that is ready to run. */
export interface CompiledJob {
  connection: Connection
  prepare: CompiledRequest[]
  create: CompiledRequest[]
  locate: CompiledRequest[] | undefined
  get: CompiledRequest[]
  also: [name: string, requests: CompiledRequest[]][]
  status: Compiled[]
  states: StateTable
  message: Compiled | undefined
  progress: Compiled | undefined
  url: Compiled | undefined
  error: Compiled | undefined
  result: Compiled | CompiledRequest[] | undefined
  cancel: CompiledRequest[] | undefined
  questions: CompiledQuestions | undefined
  /** Whether an answer means that the job does not exist. A status that a request accepts is an answer like any other. */
  isGone: (status: number, text: string, accepted: readonly number[] | undefined) => boolean
}

/** Names the member in which an expression or a pattern is wrong. */
function compiling<T>(field: string, compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    if (error instanceof DefinitionError) throw error
    const problem = error instanceof Error ? error.message : String(error)
    throw new DefinitionError({
      field: `job.${field}`,
      problem,
      remedy: 'See jsonata.org for expressions; patterns are RE2 regular expressions.',
    })
  }
}

const GONE_STATUSES = [404, 410]

function goneRule(rule: HttpJobDefinition['gone']): CompiledJob['isGone'] {
  if (!rule) return (status, _text, accepted) => GONE_STATUSES.includes(status) && !accepted?.includes(status)
  const statuses = Array.isArray(rule.status) ? rule.status : [rule.status]
  const pattern = rule.body === undefined ? undefined : compilePattern(rule.body)
  return (status, text) => statuses.includes(status) && (!pattern || pattern.match(text) !== undefined)
}

function compileQuestions(questions: QuestionsDefinition): CompiledQuestions {
  const { form } = questions
  return {
    list: compileExpression(questions.list),
    key: compileExpression(questions.key),
    message: compileExpression(questions.message),
    form: typeof form === 'string' || typeof form === 'function' ? compileExpression(form) : form,
    accept: compileRequests(questions.accept),
    decline: questions.decline && compileRequests(questions.decline),
  }
}

function compileResult(result: NonNullable<HttpJobDefinition['result']>): Compiled | CompiledRequest[] {
  return typeof result === 'string' || typeof result === 'function'
    ? compileExpression(result)
    : compileRequests(result)
}

/** Compiles a checked definition. @throws DefinitionError for an expression or a pattern that is wrong. */
export function compileAll(definition: HttpJobDefinition): CompiledJob {
  const { baseUrl, headers = {}, caseInsensitive = false } = definition
  const one = (field: string, expression: Expression | undefined) =>
    expression === undefined ? undefined : compiling(field, () => compileExpression(expression))
  const requests = (field: string, given: HttpJobDefinition['create']) =>
    compiling(field, () => compileRequests(given, caseInsensitive))
  const status = Array.isArray(definition.status) ? definition.status : [definition.status]
  const { locate, cancel, questions, result } = definition
  return {
    connection: { baseUrl, headers },
    prepare: requests('prepare', definition.prepare ?? []),
    create: requests('create', definition.create),
    locate: locate && requests('locate', locate),
    get: requests('get', definition.get),
    also: Object.entries(definition.also ?? {}).map(([name, given]) => [name, requests(`also.${name}`, given)]),
    status: compiling('status', () => status.map(compileExpression)),
    states: stateTable(definition.states, caseInsensitive),
    message: one('message', definition.message),
    progress: one('progress', definition.progress),
    url: one('url', definition.url),
    error: one('error', definition.error),
    result: result === undefined ? undefined : compiling('result', () => compileResult(result)),
    cancel: cancel && requests('cancel', cancel),
    questions: questions && compiling('questions', () => compileQuestions(questions)),
    isGone: compiling('gone', () => goneRule(definition.gone)),
  }
}
