import type { CallToolResult } from '@modelcontextprotocol/server'
import { isOver, type ShownQuestion, type TaskView } from '../engine/index.js'

/** A tool result: what clients without tasks get. */
export type PlainResult = CallToolResult

/** The engine's result as the SDK types it. Content blocks were checked when the adapter gave them; the SDK checks them again. */
export function plain(result: NonNullable<TaskView['result']>): PlainResult {
  return { ...result } as PlainResult
}

function seconds(ms: number): string {
  return `${Math.max(1, Math.round(ms / 1000))} s`
}

function questionLines(questions: readonly ShownQuestion[]): string[] {
  return questions.flatMap((question) => {
    if (question.url !== undefined)
      return [`- "${question.key}": ${question.message} A person must open ${question.url}`]
    const fields = Object.entries(question.form ?? {}).map(([name, field]) => {
      const choices = field.enum ?? field.oneOf?.map((choice) => choice.const) ?? field.items?.enum
      const kind = choices ? `one of ${choices.join(', ')}` : field.type
      return `    ${name} (${kind}${field.optional || field.default !== undefined ? ', may be left out' : ''})${field.description ? `: ${field.description}` : ''}`
    })
    return [`- "${question.key}": ${question.message}`, ...fields]
  })
}

function questionFacts(questions: readonly ShownQuestion[]) {
  return questions.map(({ key, message, form, url }) => ({
    key,
    message,
    ...(form ? { form } : {}),
    ...(url ? { url } : {}),
  }))
}

/** The state for programs. */
function facts(view: TaskView, handleTools: boolean): Record<string, unknown> {
  const { taskId, status, statusMessage, progress, url, pollIntervalMs, questions } = view
  const done = isOver(status)
  return {
    done,
    status,
    ...(handleTools ? { handle: taskId } : {}),
    message: statusMessage,
    ...(progress ? { progress } : {}),
    ...(url ? { url } : {}),
    ...(done ? {} : { pollIntervalMs }),
    ...(questions.length > 0 ? { questions: questionFacts(questions) } : {}),
  }
}

/** A job that has not ended, in plain words first: a model must not take it for a result. */
export function unfinishedResult(view: TaskView, handleTools: boolean): PlainResult {
  const waiting = view.status === 'input_required'
  const lines = [
    `NOT FINISHED. ${waiting ? 'The job waits for a decision by a person' : 'The job is still running'}: ${view.statusMessage}`,
  ]
  if (waiting) lines.push(...questionLines(view.questions))
  if (handleTools) {
    lines.push(`Handle: ${view.taskId}`)
    lines.push(
      waiting
        ? 'Put the question to the user, then call job_answer with this handle and their decision. Never decide for them.'
        : `Call job_status with this handle, in about ${seconds(view.pollIntervalMs)} or when the user asks; job_cancel stops the job. Do not start it again.`,
    )
  }
  return { content: [{ type: 'text', text: lines.join('\n') }], structuredContent: facts(view, handleTools) }
}

/** The result of a job that is over, as the tool call itself would have given it. */
export function finishedResult(view: TaskView): PlainResult {
  if (view.status === 'completed' && view.result) return plain(view.result)
  const word = view.status === 'cancelled' ? 'CANCELLED' : 'FAILED'
  return { content: [{ type: 'text', text: `${word}. ${view.error?.message ?? view.statusMessage}` }], isError: true }
}

/** What `job_status` says: the state in plain words, then what the job gave. */
export function statusResult(view: TaskView): PlainResult {
  if (!isOver(view.status)) return unfinishedResult(view, true)
  const result = finishedResult(view)
  if (view.status !== 'completed') return { ...result, structuredContent: facts(view, true) }
  const head = `FINISHED, ${result.isError ? 'but the job failed' : 'and the job succeeded'}: ${view.statusMessage}`
  const output = result.structuredContent
  return {
    ...result,
    content: [{ type: 'text', text: head }, ...result.content],
    structuredContent: { ...facts(view, true), ...(output === undefined ? {} : { output }) },
  }
}
