import type { FormSchema } from '../define/index.js'
import { isRequired, type ShownQuestion, type TaskView } from '../engine/index.js'
import type { ClientFacts } from './request.js'

/** An elicitation request, as it stands in `inputRequests`. */
export interface ElicitationRequest {
  method: 'elicitation/create'
  params:
    | {
        mode: 'form'
        message: string
        requestedSchema: { type: 'object'; properties: Record<string, object>; required?: string[] }
      }
    | { mode: 'url'; message: string; url: string }
}

function requestedSchema(form: FormSchema) {
  const required = Object.entries(form)
    .filter(([, field]) => isRequired(field))
    .map(([name]) => name)
  const properties = Object.fromEntries(Object.entries(form).map(([name, { optional: _, ...field }]) => [name, field]))
  return { type: 'object' as const, properties, ...(required.length > 0 ? { required } : {}) }
}

/** The elicitation for a question. The same question always gives the same bytes: clients compare them. */
export function elicitation(question: Pick<ShownQuestion, 'message' | 'form' | 'url'>): ElicitationRequest {
  const { message, form, url } = question
  const params =
    url !== undefined
      ? { mode: 'url' as const, message, url }
      : { mode: 'form' as const, message, requestedSchema: requestedSchema(form ?? {}) }
  return { method: 'elicitation/create', params }
}

function canAsk(question: ShownQuestion, client: ClientFacts): boolean {
  return question.url === undefined ? client.canAskForm : client.canAskUrl
}

/**
 * A task as this client can be shown it: questions that it cannot ask are left out, and when none remains the task is `working`
 * with the place where a person can decide.
 */
export function forClient(view: TaskView, client: ClientFacts): TaskView {
  if (view.status !== 'input_required') return view
  const questions = view.questions.filter((question) => canAsk(question, client))
  if (questions.length > 0) return { ...view, questions }
  const page = view.questions.find((question) => question.url !== undefined)?.url ?? view.url
  const place = page ? ` Decide at ${page}` : ' Decide in the upstream itself'
  return {
    ...view,
    status: 'working',
    questions: [],
    statusMessage: `Waiting for a person, whom this client cannot ask: ${view.statusMessage}${view.statusMessage.includes(page ?? '\0') ? '' : `${place}.`}`,
  }
}
