import type { Answer, CreateContext, JobContext, JobResult, Question, Reading } from '../define/index.js'
import { UnsupportedError, UpstreamError } from '../errors/index.js'
import type { HttpAnswer } from '../http/index.js'
import type { CompiledJob } from './compile.js'
import { questionsOf } from './questions.js'
import { type CompiledRequest, choose, readRef, sendRequest } from './request.js'
import { statusWord } from './states.js'
import type { Scope } from './template.js'
import type { ExpressionVariables, HttpRef } from './types.js'

/* What a compiled description does: the operations of its adapter. */

/** What a look found. */
export interface HttpLook {
  readonly reading: Reading<HttpRef>
  /** The body of the last answer, and what expressions see besides: for the result. */
  readonly body: unknown
  readonly variables: ExpressionVariables
}

/** A tool's input, once parsed. */
export type Input = Readonly<Record<string, unknown>>
type Ctx = JobContext<Input> | CreateContext

/** A queue item that becomes a build is two stages; more than this is a loop. */
const MOST_STAGES = 5
/** How long a job that was just created may take to be listed, in pauses between looks for it. */
const LOCATE_PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000]

function variablesFor(ctx: Ctx, input: unknown, ref: HttpRef, answer?: HttpAnswer): ExpressionVariables {
  return { status: answer?.status ?? 0, headers: answer?.headers ?? {}, ref, input, key: ctx.key, also: {} }
}

function scopeFor(ctx: Ctx, input: unknown, ref: HttpRef, rest: Scope = {}): Scope {
  return { input, ref, key: ctx.key, ...rest }
}

/** Answers before the job existed, by key and field. */
function askScope(ctx: CreateContext): Scope {
  return { ask: Object.fromEntries(Object.entries(ctx.answers).map(([key, answer]) => [key, answer.content])) }
}

/** Starts the job. */
export async function createJob(
  job: CompiledJob,
  input: Input,
  ctx: CreateContext,
  limit: number | undefined,
): Promise<HttpRef> {
  let ref: HttpRef = {}
  try {
    for (const request of job.prepare) ref = { ...ref, ...(await step(job, request, input, ref, ctx, limit)) }
  } catch (error) {
    // Whatever the preparation did, no job has been asked for yet.
    throw UpstreamError.isInstance(error) ? error.withoutEffect() : error
  }
  const request = await choose(job.create, {}, variablesFor(ctx, input, ref))
  if (!request) throw new UnsupportedError('none of the `create` requests is meant for this input')
  const found = await step(job, request, input, ref, ctx, limit)
  if (request.ref.length === 0) return { ...ref, ...(await locateSoon(job, input, ctx, limit)) }
  const missing = request.ref.map(([name]) => name).filter((name) => !Object.hasOwn(found, name))
  if (missing.length === request.ref.length) throw unfindable(request, `no ${missing.join(', ')} in it`)
  return { ...ref, ...found }
}

async function step(
  job: CompiledJob,
  request: CompiledRequest,
  input: Input,
  ref: HttpRef,
  ctx: CreateContext,
  limit: number | undefined,
): Promise<HttpRef> {
  const answer = await sendRequest(request, job.connection, scopeFor(ctx, input, ref, askScope(ctx)), ctx, limit)
  return readRef(
    request,
    answer,
    variablesFor(ctx, input, ref, answer),
    request.definition.baseUrl ?? job.connection.baseUrl,
  )
}

/** The job was probably made, but nothing is known that would find it. */
function unfindable(request: CompiledRequest, what: string): UpstreamError {
  return new UpstreamError({
    fault: 'body',
    method: request.definition.method ?? 'GET',
    template: request.definition.path,
    problem: `was answered, but with ${what}: the job cannot be found again`,
    transient: false,
    noEffect: false,
  })
}

/** A create that answers no id: the job is looked for until it is listed, inside the time limit of the create. */
async function locateSoon(
  job: CompiledJob,
  input: Input,
  ctx: CreateContext,
  limit: number | undefined,
): Promise<HttpRef> {
  for (const pause of LOCATE_PAUSES_MS) {
    const ref = await locateJob(job, input, ctx, limit)
    if (ref) return ref
    await new Promise((resolve) => setTimeout(resolve, pause))
    if (ctx.signal.aborted) break
  }
  const [first] = job.create
  if (!first) throw new UnsupportedError('there is no `create` request')
  throw unfindable(first, 'no id, and `locate` does not find the job')
}

/** Finds a job whose create had no clear answer. */
export async function locateJob(
  job: CompiledJob,
  input: Input,
  ctx: CreateContext,
  limit: number | undefined,
): Promise<HttpRef | undefined> {
  const request = await choose(job.locate ?? [], {}, variablesFor(ctx, input, {}))
  if (!request) return undefined
  try {
    const ref = await step(job, request, input, {}, ctx, limit)
    return Object.keys(ref).length > 0 ? ref : undefined
  } catch (error) {
    if (UpstreamError.isInstance(error) && error.status === 404) return undefined
    throw error
  }
}

const GONE: Reading<HttpRef> = { phase: 'gone' }

/** Reads the job: its stages, its further reads, and what they mean. */
export async function lookAtJob(
  job: CompiledJob,
  given: HttpRef,
  ctx: JobContext<Input>,
  limit: number | undefined,
): Promise<HttpLook> {
  let ref = given
  let variables = variablesFor(ctx, ctx.input, ref)
  for (let stage = 0; stage < MOST_STAGES; stage++) {
    const request = await choose(job.get, {}, variables)
    if (!request) throw new UnsupportedError('none of the `get` requests is meant for this job')
    const answer = await askJob(job, request, scopeFor(ctx, ctx.input, ref), ctx, limit)
    if (!answer) return { reading: { ...GONE, ...(ref === given ? {} : { ref }) }, body: undefined, variables }
    const found = await readRef(
      request,
      answer,
      variablesFor(ctx, ctx.input, ref, answer),
      request.definition.baseUrl ?? job.connection.baseUrl,
    )
    const grown = Object.entries(found).some(([name, value]) => ref[name] !== value)
    ref = grown ? { ...ref, ...found } : ref
    variables = variablesFor(ctx, ctx.input, ref, answer)
    // The ref has grown, and another request now has the word: the next stage follows at once.
    if (grown && (await choose(job.get, {}, variables)) !== request) continue
    const also = await readAlso(job, ctx, ref, answer.body, variables, limit)
    if (!also) return { reading: { ...GONE, ...(ref === given ? {} : { ref }) }, body: undefined, variables }
    const seen = { ...variables, also }
    const reading = await translate(job, request, answer.body, seen)
    return { reading: ref === given ? reading : { ...reading, ref }, body: answer.body, variables: seen }
  }
  throw new UnsupportedError(`the stages of \`get\` follow one another without an end (${MOST_STAGES} and more)`)
}

/** @returns undefined when the answer means that the job does not exist. */
async function askJob(
  job: CompiledJob,
  request: CompiledRequest,
  scope: Scope,
  ctx: Ctx,
  limit: number | undefined,
): Promise<HttpAnswer | undefined> {
  try {
    const answer = await sendRequest(request, job.connection, scope, ctx, limit)
    return job.isGone(answer.status, answer.text, request.definition.accept) ? undefined : answer
  } catch (error) {
    const known = UpstreamError.isInstance(error) && error.status !== undefined
    const text = known ? `${error.detail ?? ''} ${JSON.stringify(error.body) ?? ''}` : ''
    if (known && job.isGone(error.status ?? 0, text, undefined)) return undefined
    throw error
  }
}

async function readAlso(
  job: CompiledJob,
  ctx: JobContext<Input>,
  ref: HttpRef,
  body: unknown,
  variables: ExpressionVariables,
  limit: number | undefined,
) {
  const also: Record<string, unknown> = {}
  for (const [name, requests] of job.also) {
    const request = await choose(requests, body, { ...variables, also })
    if (!request) continue
    const answer = await askJob(job, request, scopeFor(ctx, ctx.input, ref), ctx, limit)
    if (!answer) return undefined
    also[name] = answer.body
  }
  return also
}

/** What one answer says, in the engine's terms. Only a status that cannot be read is a fault: the rest is decoration. */
async function translate(
  job: CompiledJob,
  request: CompiledRequest,
  body: unknown,
  variables: ExpressionVariables,
): Promise<Reading<HttpRef>> {
  const values = await Promise.all((request.status ?? job.status).map((expression) => expression(body, variables)))
  const word = statusWord(values)
  const phase = (request.states ?? job.states)(word)
  if (!phase) return { phase: 'unknown', message: word }
  const message = (await text(request.message ?? job.message, body, variables)) ?? (word === '' ? undefined : word)
  const url = await text(job.url, body, variables)
  const progress = progressOf(await quiet(job.progress, body, variables))
  const running = phase === 'working' || phase === 'input_required'
  const questions = running ? await questionsOf(job.questions, body, variables) : []
  const failure = phase === 'failed' ? await text(job.error, body, variables) : undefined
  return {
    phase: questions.length > 0 ? 'input_required' : phase,
    ...(failure !== undefined || message !== undefined ? { message: failure ?? message } : {}),
    ...(url === undefined ? {} : { url }),
    ...(progress ? { progress } : {}),
    ...(questions.length > 0 ? { questions } : {}),
  } as Reading<HttpRef>
}

type Expr = CompiledJob['message']

/** A value that must not spoil the look when it cannot be read. */
async function quiet(expression: Expr, body: unknown, variables: ExpressionVariables): Promise<unknown> {
  try {
    return await expression?.(body, variables)
  } catch {
    return undefined
  }
}

async function text(expression: Expr, body: unknown, variables: ExpressionVariables): Promise<string | undefined> {
  const value = await quiet(expression, body, variables)
  if (value === undefined || value === null || value === '') return undefined
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function progressOf(value: unknown): Reading<HttpRef>['progress'] {
  if (typeof value === 'number') return { done: value }
  if (typeof value !== 'object' || value === null || !('done' in value)) return undefined
  const { done, total } = value as { done: unknown; total?: unknown }
  if (typeof done !== 'number') return undefined
  return typeof total === 'number' ? { done, total } : { done }
}

/** Asks the upstream to stop the job. */
export async function cancelJob(
  job: CompiledJob,
  ref: HttpRef,
  ctx: JobContext<Input>,
  limit: number | undefined,
): Promise<void> {
  const request = await choose(job.cancel ?? [], {}, variablesFor(ctx, ctx.input, ref))
  if (!request) throw new UnsupportedError('the job cannot be cancelled in its present stage')
  await sendRequest(request, job.connection, scopeFor(ctx, ctx.input, ref), ctx, limit)
}

/** Hands a decision to the upstream. @returns the ref of a new job, if the answer moved to one. */
export async function replyToJob(
  job: CompiledJob,
  ref: HttpRef,
  question: Question,
  answer: Answer,
  ctx: JobContext<Input>,
  limit: number | undefined,
): Promise<HttpRef | undefined> {
  const requests = answer.action === 'accept' ? job.questions?.accept : job.questions?.decline
  if (!requests) throw new UnsupportedError('this job offers no way to decline; it goes on waiting')
  const { key, message, url } = question
  const scope = scopeFor(ctx, ctx.input, ref, { question: { key, message, url }, answer: answer.content })
  const request = await choose(requests, {}, variablesFor(ctx, ctx.input, ref))
  if (!request)
    throw new UnsupportedError('none of the requests for this answer is meant for the job in its present stage')
  const got = await sendRequest(request, job.connection, scope, ctx, limit)
  const found = await readRef(
    request,
    got,
    variablesFor(ctx, ctx.input, ref, got),
    request.definition.baseUrl ?? job.connection.baseUrl,
  )
  return Object.keys(found).length > 0 ? { ...ref, ...found } : undefined
}

/** What an ended job gave. */
export async function resultOfJob(
  job: CompiledJob,
  ref: HttpRef,
  seen: HttpLook,
  ctx: JobContext<Input>,
  limit: number | undefined,
): Promise<JobResult> {
  if (seen.reading.phase === 'failed')
    return { text: `The job failed: ${seen.reading.message ?? 'it gave no reason'}`, isError: true }
  if (!job.result) return { text: seen.reading.message ?? 'The job succeeded.' }
  if (typeof job.result === 'function') return present(await job.result(seen.body, seen.variables))
  const request = await choose(job.result, seen.body, seen.variables)
  if (!request) return present(undefined)
  const answer = await sendRequest(request, job.connection, scopeFor(ctx, ctx.input, ref), ctx, limit)
  const variables = { ...seen.variables, status: answer.status, headers: answer.headers }
  return present(request.value ? await request.value(answer.body, variables) : answer.body)
}

function present(value: unknown): JobResult {
  if (value === undefined || value === null || value === '') return { text: 'The job succeeded and gave no output.' }
  if (typeof value === 'string') return { text: value }
  return typeof value === 'object' ? { structured: value } : { text: String(value), structured: value }
}
