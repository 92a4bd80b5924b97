import type { FormSchema, Question } from '../define/index.js'
import type { Compiled } from './expression.js'
import type { CompiledRequest } from './request.js'
import type { ExpressionVariables } from './types.js'

/** The questions of a definition, ready to be read. */
export interface CompiledQuestions {
  list: Compiled
  key: Compiled
  message: Compiled
  form: FormSchema | Compiled | undefined
  accept: CompiledRequest[]
  decline: CompiledRequest[] | undefined
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
  const items = Array.isArray(listed)
    ? listed
    : listed === undefined || listed === null || listed === false
      ? []
      : [listed]
  return Promise.all(items.map((item) => questionOf(questions, item, variables)))
}

async function questionOf(
  questions: CompiledQuestions,
  item: unknown,
  variables: ExpressionVariables,
): Promise<Question> {
  const key = await questions.key(item, variables)
  if (key === undefined || key === null || key === '') throw new Error('a question has no key')
  const message = await questions.message(item, variables)
  const form = typeof questions.form === 'function' ? await questions.form(item, variables) : questions.form
  return {
    key: String(key),
    message: String(message ?? 'The job asks for a decision.'),
    ...(typeof form === 'object' && form !== null ? { form: form as FormSchema } : {}),
  }
}
