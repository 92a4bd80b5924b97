import { setTimeout as sleep } from 'node:timers/promises'
import type { Caller } from './deps.js'
import type { Engine } from './engine.js'
import { isOver, type TaskView } from './view.js'

/** How to wait. */
export interface WaitOptions {
  /** At most this long, in milliseconds. */
  ms: number
  /** Aborted when the caller is gone. */
  signal?: AbortSignal | undefined
  /** Called with each state that differs from the one before. */
  onChange?: ((view: TaskView) => void) | undefined
}

/** The looks of a wait grow apart: a short job is seen soon, a long one does not cost many reads. */
const GROWTH = 0.5
/** Leaves room for the answer itself. */
const SHORTEST_SLEEP_MS = 20

/** @returns the last state seen: the end, a question, or what it is when the time is up. */
export async function waitForTask(
  engine: Engine,
  taskId: string,
  caller: Caller,
  options: WaitOptions,
): Promise<TaskView> {
  // Time spent, not time of day: a wall clock that jumps must not end or stretch a wait.
  const started = performance.now()
  let view = await engine.look(taskId, caller)
  let told: string | undefined
  for (;;) {
    const line = JSON.stringify([view.status, view.statusMessage, view.progress])
    if (line !== told) options.onChange?.(view)
    told = line
    const spent = performance.now() - started
    if (isOver(view.status) || view.status === 'input_required' || spent >= options.ms) return view
    const policy = engine.deps.tools.get(view.tool)?.policy
    const shortest = policy?.minPollIntervalMs ?? 1_000
    // An interval above the tool's own means that the upstream asked for patience.
    const patient = policy !== undefined && view.pollIntervalMs > policy.pollIntervalMs
    const step = patient ? view.pollIntervalMs : Math.max(shortest, Math.min(view.pollIntervalMs, spent * GROWTH))
    try {
      await sleep(Math.max(SHORTEST_SLEEP_MS, Math.min(step, options.ms - spent)), undefined, {
        signal: options.signal,
      })
    } catch {
      engine.deps.emit({ type: 'wait_abandoned', taskId, tool: view.tool })
      return view
    }
    view = await engine.look(taskId, caller, { maxAgeMs: step })
  }
}
