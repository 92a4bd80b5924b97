import type { Answer, Question } from '../define/index.js'
import { AnswerError, InputError, JobToolsError, UpstreamError } from '../errors/index.js'
import type { NumberedQuestion, StoredTask } from '../store/records.js'
import { runOnJob } from './context.js'
import type { ResolvedTool } from './deps.js'
import type { Engine } from './engine.js'
import { lookAtJob } from './look.js'
import { readAnswer } from './questions.js'
import { checkRef, reasonOf, sameRef } from './reading.js'

type StoredJob = StoredTask & { kind: 'job' }
interface Decision {
  question: NumberedQuestion
  answer: Answer
}

/**
 * Takes a client's answers. Unknown, old and repeated keys are ignored; `cancel` leaves its question open.
 *
 * @param responses elicitation results by key.
 * @throws AnswerError when an answer does not fit its form (nothing is sent then) or could not be delivered (it is open again).
 */
export async function takeAnswers(
  engine: Engine,
  stored: StoredTask,
  responses: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (stored.kind !== 'job') return
  const tool = engine.deps.tools.get(stored.job.tool)
  if (!tool?.job.answer) return
  const decisions: Decision[] = []
  for (const [key, response] of Object.entries(responses)) {
    const question = stored.questions.find((asked) => asked.key === key && asked.mark === undefined)
    const answer = question && readAnswer(key, question, response)
    if (question && answer) decisions.push({ question, answer })
  }
  const failures: AnswerError[] = []
  for (const decision of decisions) {
    const failure = await deliver(engine, stored, tool, decision)
    if (failure) failures.push(failure)
  }
  const [first] = failures
  if (first)
    throw failures.length === 1 ? first : new AnswerError(failures.map((failure) => failure.message).join(' '), false)
}

/** Sends one answer, once. @returns why it could not be delivered, if it could not. */
async function deliver(
  engine: Engine,
  stored: StoredJob,
  tool: ResolvedTool,
  { question, answer }: Decision,
): Promise<AnswerError | undefined> {
  const { deps } = engine
  const { records } = deps
  const { job, ref } = stored
  if (!(await records.claimAnswer(job, question.n))) return undefined
  try {
    await send()
  } catch (error) {
    const reason = reasonOf(error, deps.http.redact)
    deps.emit({ type: 'upstream_fault', taskId: job.id, tool: tool.name, operation: 'answer', reason })
    if (JobToolsError.isInstance(error) && error.code === 'store') throw error
    return afterFault(engine, stored, question, error, reason)
  }
  await records.markAnswer(job, question.n, 'sent')
  deps.emit({ type: 'answer_sent', taskId: job.id, tool: tool.name, key: question.key })
  return undefined

  async function send() {
    const asked: Question = {
      key: question.source,
      message: question.message,
      ...(question.form ? { form: question.form } : {}),
      ...(question.url ? { url: question.url } : {}),
    }
    const moved = await runOnJob(
      deps,
      'answer',
      tool.policy.timeouts.answer,
      job,
      stored.cancel !== undefined,
      async (ctx) => tool.job.answer?.(ref, asked, answer, ctx),
    )
    if (!moved) return
    const next = checkRef(moved)
    if (!sameRef(next, ref)) await records.moveRef(job, next)
  }
}

/** The answer may or may not have arrived: the upstream itself tells, by still asking or not. */
async function afterFault(
  engine: Engine,
  stored: StoredJob,
  question: NumberedQuestion,
  error: unknown,
  reason: string,
): Promise<AnswerError | undefined> {
  const { records } = engine.deps
  const { id } = stored.job
  if (!certainlyNotTaken(error) && (await upstreamMovedOn(engine, stored, question))) return undefined
  await records.releaseAnswer(id, question.n)
  // A look in the meantime took the question for answered.
  await records.ageSnapshot(stored.job)
  const advice =
    error instanceof InputError || (JobToolsError.isInstance(error) && error.code === 'unsupported')
      ? ''
      : ' Answer again.'
  return new AnswerError(
    `The answer to "${question.key}" could not be delivered: ${reason}. The question stays open.${advice}`,
    false,
  )
}

function certainlyNotTaken(error: unknown): boolean {
  if (UpstreamError.isInstance(error)) return error.noEffect && ![404, 409, 410].includes(error.status ?? 0)
  return JobToolsError.isInstance(error)
}

/** Looks once, now. The claim hides the question from the client meanwhile, so "moved on" is read off its mark. */
async function upstreamMovedOn(engine: Engine, stored: StoredJob, question: NumberedQuestion): Promise<boolean> {
  const { records } = engine.deps
  try {
    await lookAtJob(engine, stored, { maxAgeMs: 0 })
    const now = await records.load(stored.job.id)
    if (now?.kind !== 'job') return true
    return now.questions.some((asked) => asked.n === question.n && asked.mark?.state === 'closed')
  } catch {
    return false
  }
}
