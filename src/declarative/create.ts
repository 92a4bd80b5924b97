import { setTimeout as pause } from 'node:timers/promises'
import type { CreateContext } from '../define/index.js'
import { InputError, JobToolsError, UnsupportedError, UpstreamError } from '../errors/index.js'
import { cap, cleanText } from '../http/index.js'
import type { CompiledJob } from './compile.js'
import { readRef } from './ref.js'
import { type CompiledRequest, choose, type Sent } from './request.js'
import type { Scope } from './template.js'
import type { ExpressionVariables, HttpRef } from './types.js'

/** How long a job that was just created may take to be listed: pauses between looks for it. */
const LOCATE_PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000]
const MOST_DETAIL_CHARS = 500

/**
 * Starts the job.
 * @throws JobToolsError for everything before the create was sent: certainly no job. UpstreamError from the create itself, and without
 *   `noEffect` where it was answered but the job cannot be found by the answer.
 */
export async function createJob(job: CompiledJob, input: object, ctx: CreateContext): Promise<HttpRef> {
  let ref: HttpRef = {}
  for (const request of job.prepare) ref = { ...ref, ...(await prepare(job, request, input, ref, ctx)) }
  const request = await chosen(job.create, variablesFor(ctx, input, ref), 'create')
  if (!request) throw new UnsupportedError('none of the `create` requests is meant for this input')
  let sent: Sent
  try {
    sent = await request.send(scopeFor(ctx, input, ref), ctx.http, job.timeouts.create)
  } catch (error) {
    const found = isLost(error) ? await locateNow(job, input, ref, ctx) : undefined
    if (found) return { ...ref, ...found }
    throw error
  }
  // From here on there is a job: no fault may look like one that made none.
  let problem = 'its answer names no job'
  let cause: unknown
  try {
    const found = complete(request, await readRef(request.ref, sent, variablesFor(ctx, input, ref, sent)))
    if (found) return { ...ref, ...found }
    if (request.ref.length > 0) problem = `it holds no ${namesOf(request)}`
  } catch (error) {
    problem = messageOf(error)
    cause = error
  }
  try {
    // A create that answers ids and did not answer one has mostly made no job: one look is enough.
    const find = request.ref.length > 0 ? locateNow : locateSoon
    const found = await find(job, input, ref, ctx)
    if (found) return { ...ref, ...found }
    if (request.ref.length === 0) problem += ', and `locate` does not find it'
  } catch (error) {
    problem += `, and ${messageOf(error)}`
    cause ??= error
  }
  throw answered(request, sent, `the job cannot be found again: ${problem}`, cause)
}

function isLost(error: unknown): boolean {
  return UpstreamError.isInstance(error) && !error.noEffect
}

const namesOf = ({ ref }: CompiledRequest) => ref.map(([name]) => name).join(', ')

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/**
 * A create whose answer was lost is looked for by the engine, too. But only here is it known what the preparation gave, and the
 * look may need it.
 */
async function locateNow(
  job: CompiledJob,
  input: object,
  ref: HttpRef,
  ctx: CreateContext,
): Promise<HttpRef | undefined> {
  if (Object.keys(ref).length === 0 || ctx.signal.aborted) return undefined
  try {
    return await locateJob(job, input, ctx, ref)
  } catch {
    return undefined
  }
}

/** Nothing that goes wrong here has started a job, whatever else it did. */
async function prepare(
  job: CompiledJob,
  request: CompiledRequest,
  input: object,
  ref: HttpRef,
  ctx: CreateContext,
): Promise<HttpRef> {
  if (!(await chosen([request], variablesFor(ctx, input, ref), 'prepare'))) return {}
  let sent: Sent
  try {
    sent = await request.send(scopeFor(ctx, input, ref), ctx.http, job.timeouts.create)
  } catch (error) {
    throw UpstreamError.isInstance(error) ? error.withoutEffect() : error
  }
  let problem = `it holds no ${namesOf(request)}`
  try {
    const found = await readRef(request.ref, sent, variablesFor(ctx, input, ref, sent))
    if (request.ref.length === 0 || complete(request, found)) return found
  } catch (error) {
    problem = messageOf(error)
  }
  throw answered(request, sent, `the answer cannot be used: ${problem}`).withoutEffect()
}

/** @throws InputError where it cannot be told: nothing was sent yet. */
async function chosen(
  requests: readonly CompiledRequest[],
  variables: ExpressionVariables,
  field: string,
): Promise<CompiledRequest | undefined> {
  try {
    return await choose(requests, {}, variables)
  } catch (error) {
    throw JobToolsError.isInstance(error) ? error : new InputError(`${field}.when`, messageOf(error))
  }
}

/** The members that were found, if they are enough to find the job by: the id, or where there is none, any. */
function complete(request: CompiledRequest, found: HttpRef): HttpRef | undefined {
  const needsId = request.ref.some(([name]) => name === 'id')
  const isEnough = needsId ? Object.hasOwn(found, 'id') : Object.keys(found).length > 0
  return isEnough ? found : undefined
}

/** A fault in what an answer of the upstream says, with the answer's own words. */
function answered(request: CompiledRequest, { answer }: Sent, problem: string, cause?: unknown): UpstreamError {
  const words = cap(cleanText(answer.text).replace(/\s+/g, ' ').trim(), MOST_DETAIL_CHARS)
  return new UpstreamError({
    fault: 'body',
    method: request.method,
    template: request.path,
    problem: `answered ${answer.status}, but ${problem}`,
    ...(words === '' ? {} : { detail: words }),
    transient: false,
    noEffect: false,
    cause,
  })
}

/** A create whose answer names no job: it is looked for until it is listed, inside the time limit of the create. */
async function locateSoon(
  job: CompiledJob,
  input: object,
  ref: HttpRef,
  ctx: CreateContext,
): Promise<HttpRef | undefined> {
  for (const ms of [0, ...LOCATE_PAUSES_MS]) {
    await pause(ms, undefined, { signal: ctx.signal }).catch(() => {})
    if (ctx.signal.aborted) break
    try {
      const found = await locateJob(job, input, ctx, ref)
      if (found) return found
    } catch (error) {
      // Refused credentials may be taken again after an hour, not after seconds.
      const isRefused = UpstreamError.isInstance(error) && (error.status === 401 || error.status === 403)
      if (!UpstreamError.isInstance(error) || !error.transient || isRefused) throw error
    }
  }
  return undefined
}

/**
 * Finds a job whose create had no clear answer.
 * @param ref what is known of it, from its preparation.
 * @returns undefined when it is not listed; and when the request names members of the ref that are not known, as after a crash
 *   nothing of the preparation is: without them it may find a job of somebody else.
 */
export async function locateJob(
  job: CompiledJob,
  input: object,
  ctx: CreateContext,
  ref: HttpRef = {},
): Promise<HttpRef | undefined> {
  const request = await choose(job.locate ?? [], {}, variablesFor(ctx, input, ref))
  if (!request?.needs.every((name) => Object.hasOwn(ref, name))) return undefined
  try {
    const sent = await request.send(scopeFor(ctx, input, ref), ctx.http, job.timeouts.create)
    return complete(request, await readRef(request.ref, sent, variablesFor(ctx, input, ref, sent)))
  } catch (error) {
    if (UpstreamError.isInstance(error) && error.status === 404) return undefined
    throw error
  }
}

function variablesFor(ctx: CreateContext, input: object, ref: HttpRef, sent?: Sent): ExpressionVariables {
  const { status = 0, headers = {} } = sent?.answer ?? {}
  return { status, headers, ref, input, key: ctx.key, cancelRequested: false, also: {} }
}

/** With the answers that were given before the job existed, by key and field. */
function scopeFor(ctx: CreateContext, input: object, ref: HttpRef): Scope {
  const ask = Object.fromEntries(Object.entries(ctx.answers).map(([key, answer]) => [key, answer.content]))
  return { input, ref, key: ctx.key, ask }
}
