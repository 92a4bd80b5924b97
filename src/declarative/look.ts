import type { JobContext, Reading } from '../define/index.js'
import { UnsupportedError, UpstreamError } from '../errors/index.js'
import type { CompiledJob } from './compile.js'
import type { Compiled } from './expression.js'
import { questionsOf } from './questions.js'
import { readRef } from './ref.js'
import { type CompiledRequest, choose, type Sent } from './request.js'
import { statusWord } from './states.js'
import type { Scope } from './template.js'
import type { ExpressionVariables, HttpRef } from './types.js'

/** What a look found. */
export interface HttpLook {
  /** What it means. */
  readonly reading: Reading<HttpRef>
  /** The body of the last answer to `get`. */
  readonly body: unknown
  /** What expressions see besides, for the result. */
  readonly variables: ExpressionVariables
}

type Ctx = JobContext<object>

/** A queue item that becomes a build is two stages; more than this is a loop. */
const MOST_STAGES = 5

/** What expressions see of a job. */
export function variablesFor(ctx: Ctx, ref: HttpRef, sent?: Sent): ExpressionVariables {
  const { status = 0, headers = {} } = sent?.answer ?? {}
  const { key, input, cancelRequested } = ctx
  return { status, headers, ref, input, key, cancelRequested, also: {} }
}

/** What placeholders see of a job. */
export function scopeFor(ctx: Ctx, ref: HttpRef, rest: Scope = {}): Scope {
  return { input: ctx.input, ref, key: ctx.key, ...rest }
}

/**
 * Reads the job: its stages, its further reads, and what they mean. Everything is evaluated here: `read` of the adapter is not
 * asynchronous, and JSONata is.
 * @throws UpstreamError for every answer that is no success, is not accepted and does not mean "gone"; Error where an expression
 *   that decides about the state fails.
 */
export async function lookAtJob(job: CompiledJob, given: HttpRef, ctx: Ctx): Promise<HttpLook> {
  let ref = given
  let before: HttpLook | undefined
  for (let stage = 0; stage < MOST_STAGES; stage++) {
    const request = await choose(job.get, {}, variablesFor(ctx, ref))
    if (!request) throw new UnsupportedError('none of the `get` requests is meant for this job')
    try {
      const { look, next } = await readStage(job, request, ref, ctx)
      if (!next) return before ? afterStage(before, look, ref) : look
      before = look
      ref = next
    } catch (error) {
      if (before) return before
      throw error
    }
  }
  throw new UnsupportedError(`the stages of \`get\` follow one another without an end (${MOST_STAGES} and more)`)
}

/** What follows a queue item is often not visible at once: "gone" is not believed then. The new ref goes along. */
function afterStage(before: HttpLook, look: HttpLook, ref: HttpRef): HttpLook {
  return look.reading.phase === 'gone' ? before : { ...look, reading: { ref, ...look.reading } }
}

/** Reads one stage. @returns the ref of the next one, if another one follows it. */
async function readStage(
  job: CompiledJob,
  request: CompiledRequest,
  given: HttpRef,
  ctx: Ctx,
): Promise<{ look: HttpLook; next?: HttpRef }> {
  const sent = await send(job, request, given, ctx)
  if (!sent) return { look: { reading: { phase: 'gone' }, body: undefined, variables: variablesFor(ctx, given) } }
  const found = await readRef(request.ref, sent, variablesFor(ctx, given, sent))
  const hasGrown = Object.entries(found).some(([name, value]) => given[name] !== value)
  const ref = hasGrown ? { ...given, ...found } : given
  const variables = variablesFor(ctx, ref, sent)
  const { body } = sent.answer
  // The ref has grown, and another request now has the word: the next stage follows at once.
  if (hasGrown && (await choose(job.get, {}, variablesFor(ctx, ref))) !== request)
    return { look: await passing(job, request, { body, variables, ref }), next: ref }
  const seen = { ...variables, also: await readAlso(job, ctx, ref, body, variables) }
  const reading = await translate(job, request, body, seen)
  return { look: { reading: hasGrown ? { ...reading, ref } : reading, body, variables: seen } }
}

/**
 * What a stage says that another one follows: for the case that the next one cannot be read. The new ref must not be lost then, as the
 * upstream may forget the first stage (a queue item) before it is asked again. Whatever it says of itself, the job goes on.
 */
async function passing(
  job: CompiledJob,
  request: CompiledRequest,
  { body, variables, ref }: { body: unknown; variables: ExpressionVariables; ref: HttpRef },
): Promise<HttpLook> {
  const said = await translate({ ...job, questions: undefined }, request, body, variables).catch(() => undefined)
  const reading = said?.phase === 'working' ? said : { phase: 'working' as const }
  return { reading: { ...reading, ref }, body, variables }
}

/** @returns undefined when the answer means that the job does not exist. */
async function send(job: CompiledJob, request: CompiledRequest, ref: HttpRef, ctx: Ctx): Promise<Sent | undefined> {
  try {
    const sent = await request.send(scopeFor(ctx, ref), ctx.http, job.timeouts.get)
    const { status, text } = sent.answer
    return job.isGone(status, [text], request.accept) ? undefined : sent
  } catch (error) {
    if (!UpstreamError.isInstance(error)) throw error
    if (error.status !== undefined && job.isGone(error.status, textsOf(error), undefined)) return undefined
    throw stillThere(error, request)
  }
}

/** The body of a fault is parsed and cleaned; a rule may have been written with either layout of its JSON in mind. */
function textsOf({ body, detail }: UpstreamError): string[] {
  const texts = typeof body === 'string' ? [body] : [JSON.stringify(body), JSON.stringify(body, null, '\t')]
  return [...texts, detail].filter((text) => text !== undefined)
}

/** The engine takes 404 and 410 for "gone"; where the definition says otherwise, they are faults like any other. */
function stillThere(error: UpstreamError, { method, path }: CompiledRequest): UpstreamError {
  if (error.status !== 404 && error.status !== 410) return error
  return new UpstreamError({
    fault: 'body',
    method,
    template: path,
    problem: `answered ${error.status}, which does not mean here that the job is gone`,
    detail: error.detail,
    transient: true,
    noEffect: true,
    cause: error,
  })
}

/** Whatever a further read says, the job itself was there. */
async function readAlso(
  job: CompiledJob,
  ctx: Ctx,
  ref: HttpRef,
  body: unknown,
  variables: ExpressionVariables,
): Promise<Record<string, unknown>> {
  const also: Record<string, unknown> = {}
  for (const [name, requests] of job.also) {
    const request = await choose(requests, body, { ...variables, also })
    if (!request) continue
    try {
      const { answer } = await request.send(scopeFor(ctx, ref), ctx.http, job.timeouts.get)
      also[name] = answer.body
    } catch (error) {
      throw UpstreamError.isInstance(error) ? stillThere(error, request) : error
    }
  }
  return also
}

/** What one answer says, in the engine's terms. Only a state or a gate that cannot be read is a fault: the rest is decoration. */
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
  const isRunning = phase === 'working' || phase === 'input_required'
  const questions = isRunning ? await questionsOf(job.questions, body, variables) : []
  const failure = phase === 'failed' ? await text(job.error, body, variables) : undefined
  const message = failure ?? (await text(request.message ?? job.message, body, variables)) ?? word
  const url = await text(job.url, body, variables)
  const progress = await quiet(async () => progressOf(await job.progress?.(body, variables)))
  return {
    phase: questions.length > 0 ? 'input_required' : phase,
    ...(message === '' ? {} : { message }),
    ...(url === undefined ? {} : { url }),
    ...(progress ? { progress } : {}),
    ...(questions.length > 0 ? { questions } : {}),
  }
}

/** A value that must not spoil the look when it cannot be read. */
async function quiet<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch {
    return undefined
  }
}

function text(
  expression: Compiled | undefined,
  body: unknown,
  variables: ExpressionVariables,
): Promise<string | undefined> {
  return quiet(async () => {
    const value = await expression?.(body, variables)
    if (value === undefined || value === null || value === '') return undefined
    return typeof value === 'object' ? JSON.stringify(value) : String(value)
  })
}

function progressOf(value: unknown): Reading<HttpRef>['progress'] {
  const percent = numberOf(value)
  if (percent !== undefined) return { done: percent }
  if (typeof value !== 'object' || value === null) return undefined
  const { done, total } = value as { done?: unknown; total?: unknown }
  const [reached, whole] = [numberOf(done), numberOf(total)]
  if (reached === undefined) return undefined
  return whole === undefined ? { done: reached } : { done: reached, total: whole }
}

/** Many APIs write numbers as text, some with a percent sign. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string' || !/^\d{1,15}(\.\d{1,15})?\s*%?$/.test(value)) return undefined
  return Number.parseFloat(value)
}
