import type { Answers } from '../define/index.js'
import { StoreError } from '../errors/index.js'
import type { CancelIntent, StoredTask } from '../store/records.js'
import { takeAnswers } from './answer.js'
import { requestCancel } from './cancel.js'
import { cancelAndEnd } from './cancel-end.js'
import { type Launched, lookAtPending, type Started, startJob } from './create.js'
import type { Caller, Deps, ResolvedTool } from './deps.js'
import { Flights } from './flights.js'
import { loadOwned } from './identity.js'
import { listTasks, type TaskPage } from './list.js'
import { type LookOptions, lookAtJob } from './look.js'
import { Quota } from './quota.js'
import { type SweepReport, sweep } from './sweep.js'
import { type TaskView, viewOfEnd } from './view.js'
import { type WaitOptions, waitForTask } from './wait.js'
import { Watches } from './watch.js'

/** An ended task is not worth polling; the interval only fills the field. */
const ENDED_INTERVAL_MS = 60_000

/**
 * Everything that can be done with jobs and tasks, in terms of neither MCP nor any upstream. Holds no state of its own besides
 * what is under way in this process.
 */
export class Engine {
  readonly creating = new Flights<Launched>()
  readonly looking = new Flights<TaskView>()
  readonly stopping = new Flights<CancelIntent | undefined>()

  /** Tasks that somebody listens to. */
  readonly watches = new Watches(this)
  /** Subscriptions per owner. */
  readonly quota = new Quota()

  constructor(readonly deps: Deps) {}

  /** Loads a task for its owner. @throws UnknownTaskError, StoreError, RecordError. */
  load(taskId: unknown, caller: Caller): Promise<StoredTask> {
    return loadOwned(this.deps, taskId, caller)
  }

  /** Starts a job. See `startJob`. */
  start(tool: ResolvedTool, input: unknown, caller: Caller, answers: Answers = {}, id?: string): Promise<Started> {
    return startJob(this, tool, input, caller, answers, id)
  }

  /**
   * The state of a task now.
   * @throws UnknownTaskError, StoreError, RecordError.
   */
  async look(taskId: unknown, caller: Caller, options?: LookOptions): Promise<TaskView> {
    return this.view(await this.load(taskId, caller), options)
  }

  /** The state of a loaded task now. */
  view(stored: StoredTask, options?: LookOptions): Promise<TaskView> | TaskView {
    if (stored.kind === 'end')
      return viewOfEnd(stored.end, this.deps.tools.get(stored.end.tool)?.policy.pollIntervalMs ?? ENDED_INTERVAL_MS)
    if (stored.kind === 'new') return lookAtPending(this, stored.pending, stored.cancel !== undefined)
    return lookAtJob(this, stored, options)
  }

  /** Takes answers to open questions. See `takeAnswers`. @throws UnknownTaskError, AnswerError, StoreError. */
  async answer(taskId: unknown, caller: Caller, responses: Readonly<Record<string, unknown>>): Promise<void> {
    const stored = await this.load(taskId, caller)
    await takeAnswers(this, stored, responses)
    if (stored.kind === 'job') this.announce(stored.job.id)
  }

  /** Stores the wish to cancel and sends it on. @throws UnknownTaskError, StoreError. */
  async cancel(taskId: unknown, caller: Caller): Promise<void> {
    const stored = await this.load(taskId, caller)
    await requestCancel(this, stored)
    if (stored.kind === 'job') this.announce(stored.job.id)
  }

  /**
   * Cancels a task for good, as revision 2025-11-25 wants it: the upstream is asked to stop, and unless the job has ended by then
   * the task is cancelled whatever becomes of the job.
   * @throws UnknownTaskError, UnsupportedError where the job cannot be cancelled, StoreError.
   */
  async cancelAndEnd(taskId: unknown, caller: Caller): Promise<TaskView> {
    return cancelAndEnd(this, await this.load(taskId, caller))
  }

  /** A page of the caller's own tasks, as they were last seen. @throws StoreError. */
  list(caller: Caller, cursor: string | undefined, size: number): Promise<TaskPage> {
    return listTasks(this, caller, cursor, size)
  }

  /** Looks again and again until the task is over, asks something, or the time is up. */
  wait(taskId: string, caller: Caller, options: WaitOptions): Promise<TaskView> {
    return waitForTask(this, taskId, caller, options)
  }

  /** Does what is due on all tasks, where the store can list them. */
  sweep(): Promise<SweepReport> {
    return sweep(this)
  }

  /** A task has changed: whoever listens, here or at another replica, should look. */
  announce(id: string): void {
    this.watches.nudge(id)
    const { bus } = this.deps.records.backend
    if (bus) this.deps.background(bus.publish(id))
  }

  /** Reports a fault of the store in work that nobody waits for. */
  storeFault(error: unknown): void {
    const reason = error instanceof StoreError ? error.message : String(error)
    this.deps.emit({ type: 'store_fault', reason })
  }
}
