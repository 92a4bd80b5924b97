import type { FormSchema, Question } from '../define/index.js'
import { type Compiled, compileExpression } from './expression.js'
import { type CompiledRequest, compileRequests, type RequestContext } from './request.js'
import type { ExpressionVariables, QuestionsDefinition } from './types.js'

/** The questions of a definition, ready to be read. */
export interface CompiledQuestions {
  readonly list: Compiled
  readonly key: Compiled
  readonly message: Compiled
  readonly form: FormSchema | Compiled | undefined
  readonly accept: readonly CompiledRequest[]
  readonly decline: readonly CompiledRequest[] | undefined
}

/** @throws Error for an expression that is wrong. */
export function compileQuestions(questions: QuestionsDefinition, context: RequestContext): CompiledQuestions {
  const { list, key, message, form, accept, decline } = questions
  return {
    list: compileExpression(list),
    key: compileExpression(key),
    message: compileExpression(message),
    form: typeof form === 'string' || typeof form === 'function' ? compileExpression(form) : form,
    accept: compileRequests(accept, context),
    decline: decline && compileRequests(decline, context),
  }
}

/**
 * The open questions in a look.
 * @throws Error when an expression fails: a gate that cannot be read must not pass for an open road.
 */
export async function questionsOf(
  questions: CompiledQuestions | undefined,
  body: unknown,
  variables: ExpressionVariables,
): Promise<Question[]> {
  if (!questions) return []
  const listed = await questions.list(body, variables)
  const items = Array.isArray(listed) ? listed : [listed]
  const open = items.filter((item) => item !== undefined && item !== null && item !== false)
  return Promise.all(open.map((item) => questionOf(questions, item, variables)))
}

async function questionOf(
  questions: CompiledQuestions,
  item: unknown,
  variables: ExpressionVariables,
): Promise<Question> {
  const key = textOf(await questions.key(item, variables))
  if (key === '') throw new Error('a question has no key')
  const message = textOf(await questions.message(item, variables))
  const form = typeof questions.form === 'function' ? await questions.form(item, variables) : questions.form
  return {
    key,
    message: message === '' ? 'The job asks for a decision.' : message,
    ...(isForm(form) ? { form: checkedForm(form) } : {}),
  }
}

const FIELD_TYPES = new Set<unknown>(['string', 'number', 'integer', 'boolean', 'array'])

/** A form may come from the upstream, and what is none must not be shown as one. */
function checkedForm(form: FormSchema): FormSchema {
  for (const [name, field] of Object.entries(form)) {
    if (typeof field !== 'object' || field === null || !FIELD_TYPES.has(field.type))
      throw new Error(`the field "${name}" of a question's form has no type that a form can have`)
  }
  return form
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function isForm(value: unknown): value is FormSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
}
