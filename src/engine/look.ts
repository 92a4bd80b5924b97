import type { JobResult, Reading } from '../define/index.js'
import { UpstreamError } from '../errors/index.js'
import type { EndRecord, PendingRecord, Snapshot, StoredRef, StoredTask } from '../store/records.js'
import { cancelDue, sendCancel } from './cancel.js'
import { readContext, runOnJob } from './context.js'
import type { Deps, ResolvedTool } from './deps.js'
import type { Engine } from './engine.js'
import { Lease } from './lease.js'
import { errorResult, INTERNAL_ERROR, outcomeOf, toolResult } from './outcome.js'
import { isFresh } from './pace.js'
import { taskKey } from './questions.js'
import { cleanReading, reasonOf, sameRef } from './reading.js'
import { firstSnapshot, freeze, type LiveTask, observe, type Sighting, type Verdict } from './transition.js'
import { type TaskView, viewOfEnd, viewOfLive } from './view.js'

/** How old an answer may be. */
export interface LookOptions {
  /** A snapshot younger than this will do, in milliseconds. Default: about the task's poll interval. */
  maxAgeMs?: number
}

type StoredJob = StoredTask & { kind: 'job' }

function live(stored: StoredJob, snapshot: Snapshot | undefined): LiveTask {
  return { ...stored, snapshot }
}

function abilities(tool: ResolvedTool | undefined) {
  return { canAnswer: tool?.job.answer !== undefined, canCancel: tool?.job.cancel !== undefined }
}

/** Whether the snapshot still tells what the client should see. */
function stands(task: LiveTask, tool: ResolvedTool, options: LookOptions, now: number): boolean {
  const { snapshot, cancel } = task
  if (!snapshot) return false
  const { deadlineAt } = task.job
  if (deadlineAt !== null && now >= deadlineAt) return false
  if (cancelDue(tool, cancel, now)) return false
  // What we did to the job since makes the snapshot old, however young it is.
  const touched = Math.max(
    cancel?.acceptedAt ?? cancel?.at ?? 0,
    ...task.questions.map((question) => question.mark?.at ?? 0),
  )
  if (touched >= snapshot.at) return false
  return isFresh(options.maxAgeMs === undefined ? snapshot : { at: snapshot.at, pollIntervalMs: options.maxAgeMs }, now)
}

/**
 * Reads a bound task: from its last snapshot while that is fresh, else from the upstream, once for all who ask.
 * Never takes longer than the tool's `cancel`, `get` and `result` limits together.
 */
export async function lookAtJob(engine: Engine, stored: StoredJob, options: LookOptions = {}): Promise<TaskView> {
  const { deps } = engine
  const { id } = stored.job
  const task = live(stored, await deps.records.snapshot(id))
  const tool = deps.tools.get(stored.job.tool)
  if (!tool) return withoutTool(task)
  if (stands(task, tool, options, deps.now())) return shownNow(task, tool, deps)
  return engine.looking.join(id, () => leasedLook(engine, task, tool, options))
}

function shownNow(task: LiveTask, tool: ResolvedTool, deps: Deps): TaskView {
  return viewOfLive(task, task.snapshot ?? firstSnapshot(task, tool.policy, abilities(tool), deps.now()))
}

/** The server no longer defines the tool: say so, and keep the task. */
function withoutTool(task: LiveTask): TaskView {
  const message = `The tool "${task.job.tool}" is not configured in this server any more, so its job cannot be read.`
  const base: Snapshot = task.snapshot ?? {
    at: 0,
    status: 'working',
    message,
    pollIntervalMs: 60_000,
    changedAt: task.job.createdAt,
    open: [],
  }
  return viewOfLive(task, { ...base, status: 'working', message })
}

type Looked = { value: TaskView; rest?: Promise<unknown> }

async function leasedLook(engine: Engine, task: LiveTask, tool: ResolvedTool, options: LookOptions): Promise<Looked> {
  const { deps } = engine
  const { records } = deps
  const { id } = task.job
  const lease = await Lease.take(engine, id, 'look')
  if (!lease) {
    // Another replica is looking: what it saw last is what there is.
    return { value: shownNow(task, tool, deps) }
  }
  const done = () => lease.release()
  try {
    // Another replica may have looked between our read and our lease.
    const again = await records.load(id)
    if (again?.kind === 'end') return { value: viewOfEnd(again.end, tool.policy.pollIntervalMs), rest: done() }
    const fresh = again?.kind === 'job' ? live(again, await records.snapshot(id)) : task
    if (stands(fresh, tool, options, deps.now())) return { value: shownNow(fresh, tool, deps), rest: done() }
    const { value, rest } = await upstreamLook(engine, fresh, tool)
    return { value, rest: Promise.resolve(rest).then(done) }
  } catch (error) {
    await done()
    throw error
  }
}

async function upstreamLook(engine: Engine, task: LiveTask, tool: ResolvedTool): Promise<Looked> {
  const { deps } = engine
  const cancel = cancelDue(tool, task.cancel, deps.now())
    ? await sendCancel(engine, task.job, task.ref, tool, task.cancel)
    : task.cancel
  const current = { ...task, cancel }
  const seen = await sight(deps, current, tool)
  const now = deps.now()
  const verdict = observe(current, seen.sighting, tool.policy, abilities(tool), now)
  report(deps, current, tool, seen.sighting)
  if (verdict.kind === 'live') return keepLive(engine, current, tool, verdict)
  const ref = verdict.ref ?? current.ref
  const end =
    verdict.kind === 'ended'
      ? await endOfJob(engine, current, tool, ref, verdict, seen.job)
      : await endOfLoss(engine, current, tool, ref, verdict)
  return { value: await finish(engine, current, tool, end) }
}

/** One read of the upstream, translated. Never throws: what goes wrong is a sighting too. */
async function sight(deps: Deps, task: LiveTask, tool: ResolvedTool): Promise<{ sighting: Sighting; job: unknown }> {
  const { redact } = deps.http
  let hints = {}
  try {
    const job = await runOnJob(
      deps,
      'get',
      tool.policy.timeouts.get,
      task.job,
      task.cancel !== undefined,
      async (ctx, http) => {
        try {
          return await tool.job.get(task.ref, ctx)
        } finally {
          hints = http.hints()
        }
      },
    )
    const raw = tool.job.read(job, readContext(task.job, task.ref, deps.now(), task.cancel !== undefined))
    return { sighting: { kind: 'reading', reading: cleanReading(raw as Reading<StoredRef>, redact), hints }, job }
  } catch (error) {
    if (UpstreamError.isInstance(error) && (error.status === 404 || error.status === 410)) {
      return { sighting: { kind: 'reading', reading: { phase: 'gone' }, hints }, job: undefined }
    }
    return { sighting: { kind: 'fault', reason: reasonOf(error, redact), hints }, job: undefined }
  }
}

function report(deps: Deps, task: LiveTask, tool: ResolvedTool, sighting: Sighting): void {
  const about = { taskId: task.job.id, tool: tool.name }
  if (sighting.kind === 'fault')
    deps.emit({ type: 'upstream_fault', ...about, operation: 'get', reason: sighting.reason })
  else if (sighting.reading.phase === 'unknown')
    deps.emit({ type: 'unknown_state', ...about, word: sighting.reading.message ?? '' })
}

async function keepLive(
  engine: Engine,
  task: LiveTask,
  tool: ResolvedTool,
  verdict: Verdict & { kind: 'live' },
): Promise<Looked> {
  const { deps } = engine
  const { records } = deps
  if (verdict.ref && !sameRef(verdict.ref, task.ref)) await records.moveRef(task.job, verdict.ref)
  const questions = [...task.questions]
  const open = [...verdict.snapshot.open]
  for (const n of verdict.plan?.closed ?? []) await records.markAnswer(task.job, n, 'closed')
  for (const question of verdict.plan?.fresh ?? []) {
    // Where another replica was first with this number, its question stands: take that, or go on to the next number.
    for (;;) {
      const used = questions.map((asked) => asked.key)
      const n = questions.length + 1
      const standing = await records.ask(task.job, n, freeze(question, taskKey(question.key, used), deps.now()))
      questions.push(standing)
      if (standing.source !== question.key) continue
      open.push(n)
      break
    }
  }
  const snapshot = { ...verdict.snapshot, open }
  const view = viewOfLive({ ...task, ref: verdict.ref ?? task.ref, questions }, snapshot)
  deps.emit({ type: 'looked', taskId: task.job.id, tool: tool.name, status: view.status })
  // Soft state: the answer does not wait for it. Others are told once they can see it.
  const kept = records.setSnapshot(task.job, snapshot).then(() => {
    if (snapshot.changedAt !== task.snapshot?.changedAt) engine.announce(task.job.id)
  })
  return { value: view, rest: kept.catch((error) => engine.storeFault(error)) }
}

/** The job ended: read what it gave, once. A failing read never keeps it from ending. */
async function endOfJob(
  engine: Engine,
  task: LiveTask,
  tool: ResolvedTool,
  ref: StoredRef,
  verdict: Verdict & { kind: 'ended' },
  job: unknown,
): Promise<EndRecord> {
  const { deps } = engine
  const { message, url } = verdict
  const at = deps.now()
  if (verdict.phase === 'cancelled')
    return outcomeOf(task.job, at, { status: 'cancelled', message, ...(url ? { url } : {}) })
  const failed = verdict.phase === 'failed'
  const result = await readResult(engine, task, tool, ref, job, failed, message)
  return outcomeOf(task.job, at, {
    status: 'completed',
    message: result.isError && !failed ? `${message} Its result cannot be used.` : message,
    result: { ...result, _meta: { 'mcp-job-tools/job': { ...ref, ...(url ? { url } : {}) } } },
    ...(url ? { url } : {}),
  })
}

async function readResult(
  engine: Engine,
  task: LiveTask,
  tool: ResolvedTool,
  ref: StoredRef,
  job: unknown,
  failed: boolean,
  message: string,
) {
  const { deps } = engine
  const { redact } = deps.http
  const { result } = tool.job
  const limit = tool.policy.timeouts.result
  let given: JobResult = { text: message }
  if (result) {
    try {
      given = await runOnJob(deps, 'result', limit, task.job, task.cancel !== undefined, (ctx) => result(ref, job, ctx))
    } catch (error) {
      const reason = reasonOf(error, redact)
      deps.emit({ type: 'upstream_fault', taskId: task.job.id, tool: tool.name, operation: 'result', reason })
      return errorResult(
        `The job ${failed ? `failed: ${message}` : 'succeeded'}. Its result could not be read: ${reason}`,
      )
    }
  }
  return toolResult(tool, given ?? {}, failed, redact)
}

/** The task ends although its job did not say so: a protocol fault, with the job named so that somebody can look. */
async function endOfLoss(
  engine: Engine,
  task: LiveTask,
  tool: ResolvedTool,
  ref: StoredRef,
  verdict: Verdict & { kind: 'lost' },
): Promise<EndRecord> {
  const { deps } = engine
  let { message } = verdict
  if (verdict.cancelUpstream && task.cancel?.acceptedAt === undefined) {
    const sent = await sendCancel(engine, task.job, ref, tool, task.cancel ?? { at: deps.now(), attempts: 0 })
    if (sent?.acceptedAt === undefined)
      message = `${message.replace('It was asked to stop.', '')}It could not be stopped: ${sent?.problem ?? 'no answer'}.`
  }
  const data = { reason: verdict.loss, job: ref, ...(verdict.url ? { url: verdict.url } : {}) }
  return outcomeOf(task.job, deps.now(), {
    status: 'failed',
    message,
    error: { code: INTERNAL_ERROR, message, data },
    ...(verdict.url ? { url: verdict.url } : {}),
  })
}

/** Writes an outcome, or takes the one that stands already. */
export async function finish(
  engine: Engine,
  task: { job: PendingRecord; questions: readonly unknown[] },
  tool: ResolvedTool,
  end: EndRecord,
): Promise<TaskView> {
  const { deps } = engine
  const standing = await deps.records.end(end)
  if (standing === end)
    deps.emit({ type: 'ended', taskId: end.id, tool: end.tool, status: end.status, message: end.message })
  deps.background(deps.records.tidy(end.id, task.questions.length))
  engine.announce(end.id)
  return viewOfEnd(standing, tool.policy.pollIntervalMs)
}
