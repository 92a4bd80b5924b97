import type { Answer, JobContext, JobResult, Question } from '../define/index.js'
import { UnsupportedError, UpstreamError } from '../errors/index.js'
import { logBlock } from '../http/index.js'
import type { CompiledJob } from './compile.js'
import { type HttpLook, scopeFor, variablesFor } from './look.js'
import { readRef } from './ref.js'
import { choose } from './request.js'
import type { HttpRef } from './types.js'

/* What can be done with a job besides looking at it. */

type Ctx = JobContext<object>

/** How much of a log is a result: the tool's own limit may be lower. */
const MOST_LOG_BYTES = 100_000

/**
 * Asks the upstream to stop the job.
 * @throws UpstreamError for every refusal: the engine keeps the wish, and lets the next look tell what 404, 409 and 410 mean.
 */
export async function cancelJob(job: CompiledJob, ref: HttpRef, ctx: Ctx): Promise<void> {
  const request = await choose(job.cancel ?? [], {}, variablesFor(ctx, ref))
  if (!request) throw new UnsupportedError('the job cannot be cancelled in its present stage')
  await request.send(scopeFor(ctx, ref), ctx.http, job.timeouts.cancel)
}

/**
 * Hands a decision to the upstream.
 * @returns the ref of a new job, if the answer moved to one.
 * @throws UnsupportedError where the definition has no request for it.
 */
export async function replyToJob(
  job: CompiledJob,
  ref: HttpRef,
  question: Question,
  answer: Answer,
  ctx: Ctx,
): Promise<HttpRef | undefined> {
  const requests = answer.action === 'accept' ? job.questions?.accept : job.questions?.decline
  if (!requests) throw new UnsupportedError('the upstream has no way to decline; the job goes on waiting')
  const variables = variablesFor(ctx, ref)
  const request = await choose(requests, {}, variables)
  if (!request)
    throw new UnsupportedError('none of the requests for this answer is meant for the job in its present stage')
  const { key, message, url } = question
  // Gates with numbers for keys often refuse them as text.
  const number = /^(0|[1-9]\d{0,14})$/.test(key) ? Number(key) : undefined
  const scope = scopeFor(ctx, ref, { question: { key, number, message, url }, answer: answer.content })
  const sent = await request.send(scope, ctx.http, job.timeouts.answer)
  try {
    const found = await readRef(request.ref, sent, variablesFor(ctx, ref, sent))
    return Object.keys(found).length > 0 ? { ...ref, ...found } : undefined
  } catch (cause) {
    // The answer was taken: this must not look like one that was not.
    throw new UpstreamError({
      fault: 'body',
      method: request.method,
      template: request.path,
      problem: `took the answer, but the job that follows cannot be read off it: ${cause instanceof Error ? cause.message : String(cause)}`,
      transient: false,
      noEffect: false,
      cause,
    })
  }
}

/** What an ended job gave. */
export async function resultOfJob(job: CompiledJob, ref: HttpRef, look: HttpLook, ctx: Ctx): Promise<JobResult> {
  const { reading, body, variables } = look
  if (reading.phase === 'failed')
    return { text: `The job failed: ${reading.message ?? 'it gave no reason'}`, isError: true }
  const { result } = job
  if (!result) return { text: reading.message ?? 'The job succeeded.' }
  if (typeof result === 'function') return present(await result(body, variables))
  const request = await choose(result, body, variables)
  if (!request) return present(undefined)
  const { answer } = await request.send(scopeFor(ctx, ref), ctx.http, job.timeouts.result)
  const { status, headers, text, droppedBytes } = answer
  if (request.isLog)
    return { text: logBlock(text, { lines: Number.MAX_SAFE_INTEGER, bytes: MOST_LOG_BYTES, droppedBytes }) }
  return present(request.value ? await request.value(answer.body, { ...variables, status, headers }) : answer.body)
}

function present(value: unknown): JobResult {
  if (value === undefined || value === null || value === '') return { text: 'The job succeeded and gave no output.' }
  if (typeof value === 'string') return { text: value }
  return typeof value === 'object' ? { structured: value } : { text: String(value), structured: value }
}
