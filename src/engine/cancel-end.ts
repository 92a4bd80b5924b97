import { UnsupportedError } from '../errors/index.js'
import type { StoredTask } from '../store/records.js'
import { requestCancel, sendCancel } from './cancel.js'
import type { Engine } from './engine.js'
import { finish } from './look.js'
import { outcomeOf } from './outcome.js'
import { isOver, type TaskView } from './view.js'

/** See `Engine.cancelAndEnd`. */
export async function cancelAndEnd(engine: Engine, stored: StoredTask): Promise<TaskView> {
  if (stored.kind === 'end') return engine.view(stored)
  const record = stored.kind === 'new' ? stored.pending : stored.job
  const tool = engine.deps.tools.get(record.tool)
  if (!tool?.job.cancel) throw new UnsupportedError('This kind of job cannot be cancelled: it goes on.')
  await requestCancel(engine, stored)
  if (stored.kind === 'new') return engine.view(stored)
  // Joins the request that requestCancel has under way.
  const intent = await sendCancel(
    engine,
    record,
    stored.ref,
    tool,
    stored.cancel ?? { at: engine.deps.now(), attempts: 0 },
  )
  const current = await engine.deps.records.load(record.id)
  const view = current ? await engine.view(current, { maxAgeMs: 0 }) : await engine.view(stored)
  if (isOver(view.status)) return view
  const message =
    intent?.acceptedAt === undefined
      ? `The task was cancelled. Its job could not be stopped yet: ${intent?.problem ?? 'the upstream has not answered'}.`
      : 'The task was cancelled, and its job was asked to stop.'
  return finish(
    engine,
    { job: record, questions: stored.questions },
    tool,
    outcomeOf(record, engine.deps.now(), { status: 'cancelled', message }),
  )
}
