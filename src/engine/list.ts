import type { StoredTask } from '../store/records.js'
import type { Caller } from './deps.js'
import type { Engine } from './engine.js'
import { ownerHash } from './identity.js'
import { firstSnapshot, type LiveTask } from './transition.js'
import { type TaskView, viewOfEnd, viewOfLive, viewOfPending } from './view.js'

/** A page of tasks, newest first. */
export interface TaskPage {
  views: TaskView[]
  /** Where the next page begins; undefined on the last one. */
  next: string | undefined
}

/** Fills the field of a task whose tool is no longer configured. */
const DEFAULT_INTERVAL_MS = 60_000

/** The caller's own tasks, as they were last seen: a listing does not read the upstream. */
export async function listTasks(
  engine: Engine,
  caller: Caller,
  cursor: string | undefined,
  size: number,
): Promise<TaskPage> {
  const { records } = engine.deps
  const ids = await records.owned(ownerHash(caller))
  const from = cursor === undefined ? 0 : ids.findIndex((entry) => entry < cursor)
  if (from < 0) return { views: [], next: undefined }
  const page = ids.slice(from, from + size)
  const views: TaskView[] = []
  for (const entry of page) {
    const id = entry.slice(entry.indexOf(':') + 1)
    const stored = await records.load(id)
    if (stored) views.push(await lastSeen(engine, stored))
  }
  return { views, next: from + size < ids.length ? page.at(-1) : undefined }
}

async function lastSeen(engine: Engine, stored: StoredTask): Promise<TaskView> {
  const { deps } = engine
  const record = stored.kind === 'end' ? stored.end : stored.kind === 'new' ? stored.pending : stored.job
  const tool = deps.tools.get(record.tool)
  const interval = tool?.policy.pollIntervalMs ?? DEFAULT_INTERVAL_MS
  if (stored.kind === 'end') return viewOfEnd(stored.end, interval)
  if (stored.kind === 'new') return viewOfPending(stored.pending, stored.cancel !== undefined, interval)
  const task: LiveTask = { ...stored, snapshot: await deps.records.snapshot(stored.job.id) }
  if (!tool) return { ...viewOfPending(stored.job, false, interval), statusMessage: '' }
  const can = { canAnswer: tool.job.answer !== undefined, canCancel: tool.job.cancel !== undefined }
  return viewOfLive(task, task.snapshot ?? firstSnapshot(task, tool.policy, can, deps.now()))
}
