import type { Answers } from '../define/index.js'
import { JobToolsError, StoreError, UpstreamError } from '../errors/index.js'
import type { JobRecord, PendingRecord, StoredRef, StoredResult } from '../store/records.js'
import { requestCancel } from './cancel.js'
import { runCreate, runOnJob } from './context.js'
import type { Caller, ResolvedTool } from './deps.js'
import type { Engine } from './engine.js'
import { newKey, newTaskId, ownerHash } from './identity.js'
import { Lease } from './lease.js'
import { finish } from './look.js'
import { errorResult, outcomeOf } from './outcome.js'
import { checkRef, reasonOf } from './reading.js'
import { firstSnapshot } from './transition.js'
import { type TaskView, viewOfLive, viewOfPending } from './view.js'
import { jobLabel } from './words.js'

/** A call does not wait longer than this for a slow upstream to answer its create: it hands the task out meanwhile. */
const HAND_OUT_MS = 5_000
/** A record younger than this may belong to a create whose lease is just being taken. */
const YOUNG_MS = 6_000

/** What a create led to. */
export type Launched =
  | { kind: 'bound'; job: JobRecord }
  /** Certainly no job. */
  | { kind: 'refused'; reason: string }
  /** Perhaps a job. */
  | { kind: 'unknown'; reason: string }

/** What a call gets: a task, or a plain result when there is no job to follow. */
export type Started = { kind: 'task'; view: TaskView } | { kind: 'result'; result: StoredResult }

/**
 * Starts a job: record, then upstream, then ref, then answer. The create is finished and recorded even when the caller is gone.
 *
 * @param once an id to use instead of a fresh one, when a nonce was claimed for this very call.
 * @throws StoreError when the task cannot be made durable.
 */
export async function startJob(
  engine: Engine,
  tool: ResolvedTool,
  input: unknown,
  caller: Caller,
  answers: Answers,
  id: string = newTaskId(engine.deps),
): Promise<Started> {
  const { deps } = engine
  const createdAt = deps.now()
  const { maxDurationMs, retentionMs } = tool.policy
  const pending: PendingRecord = {
    id,
    tool: tool.name,
    owner: ownerHash(caller),
    createdAt,
    key: newKey(deps),
    input,
    answers: structuredClone(answers) as PendingRecord['answers'],
    deadlineAt: maxDurationMs === null ? null : createdAt + maxDurationMs,
    retentionMs,
  }
  // The lease tells other replicas that somebody is at it; should this process die, it runs out.
  const taking = Lease.take(engine, id, 'make')
  try {
    await Promise.all([taking, deps.records.addPending(pending)])
  } catch (error) {
    deps.background(taking.then((lease) => lease?.release()))
    throw error
  }
  const lease = await taking
  const launch = engine.creating.join(id, async () => {
    try {
      return { value: await launchJob(engine, tool, pending, caller) }
    } finally {
      if (lease) deps.background(lease.release())
    }
  })
  const launched = await withinPatience(launch)
  if (!launched) {
    deps.background(launch.then((late) => settleLate(engine, tool, pending, late)))
    return { kind: 'task', view: viewOfPending(pending, false, tool.policy.pollIntervalMs) }
  }
  if (launched.kind === 'bound') return { kind: 'task', view: boundView(tool, launched.job, deps.now()) }
  if (launched.kind === 'refused') {
    await deps.records.forget(pending)
    return { kind: 'result', result: refusedResult(launched.reason) }
  }
  const result = unknownResult(pending, launched.reason)
  await keepUnknown(engine, tool, pending, result)
  return { kind: 'result', result }
}

async function withinPatience<T>(work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), HAND_OUT_MS)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function boundView(tool: ResolvedTool, job: JobRecord, now: number): TaskView {
  const task = { job, ref: job.ref, refAt: job.boundAt, cancel: undefined, questions: [], snapshot: undefined }
  const abilities = { canAnswer: tool.job.answer !== undefined, canCancel: tool.job.cancel !== undefined }
  return viewOfLive(task, firstSnapshot(task, tool.policy, abilities, now))
}

function refusedResult(reason: string): StoredResult {
  return errorResult(`The job was not started. ${reason}`)
}

function unknownResult(pending: PendingRecord, reason: string): StoredResult {
  return {
    ...errorResult(
      `Outcome unknown: the job may be running. ${reason} Do not call again before you have looked for it upstream` +
        ` (idempotency key ${pending.key}): a second call may start a second job.`,
    ),
    structuredContent: { outcome: 'unknown', retryable: false, handle: pending.id, idempotencyKey: pending.key },
  }
}

/** True when the upstream certainly made no job: the request was refused, or never sent. */
function certainlyNoJob(error: unknown): boolean {
  if (UpstreamError.isInstance(error)) return error.noEffect
  return JobToolsError.isInstance(error)
}

async function launchJob(
  engine: Engine,
  tool: ResolvedTool,
  pending: PendingRecord,
  caller: Caller,
): Promise<Launched> {
  const { deps } = engine
  const about = { taskId: pending.id, tool: tool.name }
  let ref: StoredRef
  try {
    ref = checkRef(
      await runCreate(deps, 'create', tool.policy.timeouts.create, pending, caller, (ctx) =>
        tool.job.create(pending.input, ctx),
      ),
    )
  } catch (error) {
    const reason = `${reasonOf(error, deps.http.redact)}.`
    if (certainlyNoJob(error)) {
      deps.emit({ type: 'create_refused', ...about, reason })
      return {
        kind: 'refused',
        reason: UpstreamError.isInstance(error) && error.transient ? `${reason} It may work later.` : reason,
      }
    }
    const found = await locate(engine, tool, pending, caller)
    if (!found) {
      deps.emit({ type: 'create_unknown', ...about, reason })
      return { kind: 'unknown', reason }
    }
    ref = found
  }
  return { kind: 'bound', job: await bind(engine, tool, pending, ref) }
}

/** Looks for a job whose create had no clear answer. @returns undefined when that cannot be told. */
async function locate(
  engine: Engine,
  tool: ResolvedTool,
  pending: PendingRecord,
  caller: Caller | undefined,
): Promise<StoredRef | undefined> {
  const { deps } = engine
  const { locate: find } = tool.job
  if (!find) return undefined
  try {
    const ref = await runCreate(deps, 'locate', tool.policy.timeouts.create, pending, caller, (ctx) =>
      find(pending.input, ctx),
    )
    return ref === undefined ? undefined : checkRef(ref)
  } catch (error) {
    deps.emit({
      type: 'upstream_fault',
      taskId: pending.id,
      tool: tool.name,
      operation: 'locate',
      reason: reasonOf(error, deps.http.redact),
    })
    return undefined
  }
}

/**
 * Makes the ref durable. Where the store fails, a job without a record would run on unseen: it is cancelled, and both facts are
 * reported.
 */
async function bind(engine: Engine, tool: ResolvedTool, pending: PendingRecord, ref: StoredRef): Promise<JobRecord> {
  const { deps } = engine
  try {
    const job = await deps.records.bind(pending, ref)
    // The write-ahead record has done its work; should this fail, the bound record wins anyway.
    deps.background(deps.records.dropPending(pending.id))
    deps.emit({ type: 'created', taskId: pending.id, tool: tool.name, ref })
    return job
  } catch (cause) {
    const name = jobLabel(ref)
    const stopped = await stopUnrecorded(engine, tool, pending, ref)
    throw new StoreError(
      `${name} was started but could not be recorded (${reasonOf(cause, deps.http.redact)}). ${stopped}`,
      { cause },
    )
  }
}

async function stopUnrecorded(
  engine: Engine,
  tool: ResolvedTool,
  pending: PendingRecord,
  ref: StoredRef,
): Promise<string> {
  const { cancel } = tool.job
  if (!cancel) return 'This kind of job cannot be cancelled: it is running, and only the upstream knows of it.'
  try {
    await runOnJob(engine.deps, 'cancel', tool.policy.timeouts.cancel, pending, true, (ctx) => cancel(ref, ctx))
    return 'It was cancelled.'
  } catch (error) {
    return `Cancelling it failed as well (${reasonOf(error, engine.deps.http.redact)}): look for it upstream.`
  }
}

/** The task was handed out before the create was answered: what became of it is now told by the task. */
async function settleLate(
  engine: Engine,
  tool: ResolvedTool,
  pending: PendingRecord,
  launched: Launched,
): Promise<void> {
  if (launched.kind === 'refused') {
    await endUnstarted(engine, tool, pending, refusedResult(launched.reason))
    return
  }
  if (launched.kind === 'unknown') {
    await keepUnknown(engine, tool, pending, unknownResult(pending, launched.reason))
    return
  }
  const stored = await engine.deps.records.load(pending.id)
  // A cancel that came before the id existed is sent now that it does.
  if (stored?.kind === 'job' && stored.cancel) await requestCancel(engine, stored)
}

/**
 * Nobody knows whether a job runs. With `locate` the record waits: a later look searches again, as the upstream may list the job
 * by then. Without it nothing more will ever be known, and that is the outcome.
 */
async function keepUnknown(
  engine: Engine,
  tool: ResolvedTool,
  pending: PendingRecord,
  result: StoredResult,
): Promise<void> {
  if (!tool.job.locate) await endUnstarted(engine, tool, pending, result)
}

function endUnstarted(
  engine: Engine,
  tool: ResolvedTool,
  pending: PendingRecord,
  result: StoredResult,
): Promise<TaskView> {
  const [first] = result.content
  const message = String(first?.text ?? 'The job was not started.').split(/(?<=\.) /)[0] ?? ''
  const end = outcomeOf(pending, engine.deps.now(), { status: 'completed', message, result })
  return finish(engine, { job: pending, questions: [] }, tool, end)
}

/**
 * A task without a job yet. While somebody is at it, here or at another replica, the task is working; a record that a crash left
 * behind is reconciled: found upstream, or ended with an honest "unknown".
 */
export async function lookAtPending(engine: Engine, pending: PendingRecord, cancelled: boolean): Promise<TaskView> {
  const { deps } = engine
  const tool = deps.tools.get(pending.tool)
  const interval = tool?.policy.pollIntervalMs ?? 60_000
  const waiting = viewOfPending(pending, cancelled, interval)
  if (!tool || engine.creating.get(pending.id)) return waiting
  if (deps.now() < pending.createdAt + YOUNG_MS) return waiting
  const lease = await Lease.take(engine, pending.id, 'make')
  if (!lease) return waiting
  try {
    const ref = await locate(engine, tool, pending, undefined)
    if (ref) return boundView(tool, await bind(engine, tool, pending, ref), deps.now())
    const reason = 'The server stopped while the job was being started.'
    deps.emit({ type: 'create_unknown', taskId: pending.id, tool: tool.name, reason })
    return await endUnstarted(engine, tool, pending, unknownResult(pending, reason))
  } finally {
    await lease.release()
  }
}
