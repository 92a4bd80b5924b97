import { cancelDue } from './cancel.js'
import type { Engine } from './engine.js'
import { isOver } from './view.js'

/** What a sweep did. */
export interface SweepReport {
  /** Tasks that were looked at because something was due. */
  looked: number
  /** Of those, the ones that are over now. */
  ended: number
  /** Tasks that could not be looked at, by what went wrong. */
  faults: string[]
}

/**
 * Walks the tasks that have not ended and does what is due: creates left by a crash, deadlines, cancels that did not get
 * through. Where the store cannot list, it does nothing: the same work is done when somebody looks.
 */
export async function sweep(engine: Engine, what: readonly ('new' | 'job')[] = ['new', 'job']): Promise<SweepReport> {
  const report: SweepReport = { looked: 0, ended: 0, faults: [] }
  for (const kind of what) {
    for await (const id of engine.deps.records.unended(kind)) {
      try {
        await sweepOne(engine, id, report)
      } catch (error) {
        report.faults.push(error instanceof Error ? error.message : String(error))
      }
    }
  }
  return report
}

async function sweepOne(engine: Engine, id: string, report: SweepReport): Promise<void> {
  const { records, tools, now, background } = engine.deps
  const stored = await records.load(id)
  if (!stored) return
  if (stored.kind === 'end') {
    // A crash between the outcome and its tidying left the rest behind.
    background(records.tidy(id, 0))
    return
  }
  if (stored.kind === 'job') {
    const { deadlineAt } = stored.job
    const tool = tools.get(stored.job.tool)
    const late = deadlineAt !== null && now() >= deadlineAt
    if (!tool || !(late || cancelDue(tool, stored.cancel, now()))) return
  }
  const view = await engine.view(stored)
  report.looked++
  if (isOver(view.status)) report.ended++
}
