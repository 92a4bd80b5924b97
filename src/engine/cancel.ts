import { UpstreamError } from '../errors/index.js'
import type { CancelIntent, PendingRecord, StoredRef, StoredTask } from '../store/records.js'
import { runOnJob } from './context.js'
import type { ResolvedTool } from './deps.js'
import type { Engine } from './engine.js'
import { Lease } from './lease.js'
import { reasonOf } from './reading.js'

/** A refused cancel is tried again after 5 s, 10 s, 20 s ... */
const FIRST_RETRY_MS = 5_000
const LAST_RETRY_MS = 300_000

/** Whether the wish to cancel still has to reach the upstream, now. */
export function cancelDue(tool: ResolvedTool, intent: CancelIntent | undefined, now: number): boolean {
  if (!intent || !tool.job.cancel || intent.acceptedAt !== undefined) return false
  if (intent.triedAt === undefined || now < intent.triedAt) return true
  return now >= intent.triedAt + Math.min(FIRST_RETRY_MS * 2 ** (intent.attempts - 1), LAST_RETRY_MS)
}

/**
 * Stores the wish to cancel; the upstream is asked right after, without holding up the answer. A task that has ended stays as
 * it is.
 */
export async function requestCancel(engine: Engine, stored: StoredTask): Promise<void> {
  if (stored.kind === 'end') return
  const record = stored.kind === 'new' ? stored.pending : stored.job
  if (!stored.cancel) await engine.deps.records.addCancel(record)
  const tool = engine.deps.tools.get(record.tool)
  // Without an id there is nothing to cancel yet: the create that is under way, or the next look, sends it.
  if (stored.kind === 'new' || !tool) return
  const intent = stored.cancel ?? { at: engine.deps.now(), attempts: 0 }
  if (cancelDue(tool, intent, engine.deps.now()))
    engine.deps.background(sendCancel(engine, stored.job, stored.ref, tool, intent))
}

/**
 * Sends the cancel request, once however many ask. Never throws: what the upstream says is stored with the intent.
 * @returns the intent as it stands afterwards.
 */
export function sendCancel(
  engine: Engine,
  record: PendingRecord,
  ref: StoredRef,
  tool: ResolvedTool,
  intent: CancelIntent | undefined,
): Promise<CancelIntent | undefined> {
  return engine.stopping.join(record.id, async () => ({ value: await send(engine, record, ref, tool, intent) }))
}

async function send(
  engine: Engine,
  record: PendingRecord,
  ref: StoredRef,
  tool: ResolvedTool,
  intent: CancelIntent | undefined,
) {
  const { deps } = engine
  const { records } = deps
  const { cancel } = tool.job
  const before = intent ?? { at: deps.now(), attempts: 0 }
  if (!cancel) return before
  const lease = await Lease.take(engine, record.id, 'stop')
  // Another replica is sending it: its answer shows at the next look.
  if (!lease) return before
  try {
    const problem = await attempt(engine, record, ref, tool)
    const now = deps.now()
    const after: CancelIntent = {
      at: before.at,
      attempts: before.attempts + 1,
      triedAt: now,
      ...(problem === undefined ? { acceptedAt: now } : { problem }),
    }
    deps.emit({
      type: 'cancel_sent',
      taskId: record.id,
      tool: tool.name,
      accepted: problem === undefined,
      ...(problem ? { reason: problem } : {}),
    })
    await records.setCancel(record, after)
    return after
  } finally {
    await lease.release()
  }
}

/** @returns undefined when the upstream accepted it, else what it said. */
async function attempt(
  engine: Engine,
  record: PendingRecord,
  ref: StoredRef,
  tool: ResolvedTool,
): Promise<string | undefined> {
  try {
    await runOnJob(engine.deps, 'cancel', tool.policy.timeouts.cancel, record, true, async (ctx) =>
      tool.job.cancel?.(ref, ctx),
    )
    return undefined
  } catch (error) {
    // 404, 409 and 410 mostly mean "it is over already": the look that follows tells.
    const over = UpstreamError.isInstance(error) && [404, 409, 410].includes(error.status ?? 0)
    const reason = reasonOf(error, engine.deps.http.redact)
    return over ? `the upstream says there is nothing to cancel (${reason})` : reason
  }
}
