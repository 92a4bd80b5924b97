import type { Caller, Engine, TaskView } from '../engine/index.js'
import { isOver } from '../engine/index.js'
import { UnknownTaskError } from '../errors/index.js'
import { idsOf, type TaskListen, taskNotification } from '../wire/index.js'

/** Subscriptions of one owner at a time; more are refused. */
const MOST_PER_OWNER = 100

/** Writes one message to the client that listens. */
export type Deliver = (message: unknown) => void

/** Why a listen request is refused before any stream begins. */
export type Refusal = 'no-declaration' | 'bad-ids' | 'too-many'

/**
 * The task side of one `subscriptions/listen`: which ids are the caller's, their present states, and each change until the last
 * of them is over.
 */
export class Subscription {
  private readonly stops = new Map<string, () => void>()
  private opened = false

  private constructor(
    readonly listen: TaskListen,
    /** The ids that exist and are the caller's. */
    readonly accepted: readonly string[],
    private readonly engine: Engine,
    private readonly onClose: () => void,
  ) {}

  /** Judges a request. Foreign, unknown and malformed ids are left out alike. @throws StoreError. */
  static async open(engine: Engine, listen: TaskListen, caller: Caller): Promise<Subscription | Refusal> {
    if (!listen.client.declaresTasks) return 'no-declaration'
    const ids = idsOf(listen)
    if (!ids) return 'bad-ids'
    const release = engine.quota.take(caller.subject ?? '', MOST_PER_OWNER)
    if (!release) return 'too-many'
    const accepted: string[] = []
    try {
      for (const id of ids) if (await isMine(engine, id, caller)) accepted.push(id)
    } catch (error) {
      release()
      throw error
    }
    return new Subscription(listen, accepted, engine, release)
  }

  /** Begins to deliver, after the acknowledgement. `onDone` is called once the last task is over. */
  start(deliver: Deliver, onDone: () => void): void {
    if (this.opened) return
    this.opened = true
    const open = new Set(this.accepted)
    const told = (view: TaskView) => {
      deliver(taskNotification(this.listen, view))
      if (!isOver(view.status)) return
      this.stops.get(view.taskId)?.()
      open.delete(view.taskId)
      if (open.size === 0) onDone()
    }
    for (const id of this.accepted) this.stops.set(id, this.engine.watches.follow(id, told))
    if (open.size === 0) onDone()
  }

  /** Stops delivering. */
  close(): void {
    for (const stop of this.stops.values()) stop()
    this.stops.clear()
    this.onClose()
  }
}

async function isMine(engine: Engine, id: string, caller: Caller): Promise<boolean> {
  try {
    await engine.load(id, caller)
    return true
  } catch (error) {
    if (error instanceof UnknownTaskError) return false
    throw error
  }
}
