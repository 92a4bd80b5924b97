import type { Engine } from './engine.js'
import { isOver, type TaskView } from './view.js'

/** Told of each state of a task that differs from the one before. Must not throw. */
export type Watcher = (view: TaskView) => void

interface Watch {
  watchers: Set<Watcher>
  timer: NodeJS.Timeout | undefined
  last: TaskView | undefined
  looking: boolean
  /** A change was announced while a look was under way: that look may have missed it. */
  again: boolean
}

/** After a look that failed, the next one waits this long. */
const AFTER_FAULT_MS = 5_000

/**
 * Follows tasks for those who listen: one loop per task and process however many listen, and none when nobody does. Its looks
 * share everything with other looks, so a listener costs the upstream nothing that a polling client would not.
 */
export class Watches {
  private readonly watches = new Map<string, Watch>()
  /** Ends the subscription to other replicas' changes; there is one while anything is followed. */
  private unsubscribe: Promise<() => Promise<void>> | undefined

  constructor(private readonly engine: Engine) {}

  /** Tasks being followed. */
  get size(): number {
    return this.watches.size
  }

  /**
   * Follows a task: its present state first, then each change, nothing after the end.
   * @returns stops following.
   */
  follow(taskId: string, watcher: Watcher): () => void {
    let watch = this.watches.get(taskId)
    if (!watch) {
      watch = { watchers: new Set(), timer: undefined, last: undefined, looking: false, again: false }
      this.watches.set(taskId, watch)
    }
    this.subscribe()
    watch.watchers.add(watcher)
    if (watch.last) watcher(watch.last)
    else if (!watch.looking) void this.look(taskId, watch)
    return () => this.leave(taskId, watcher)
  }

  /** A task may have changed: look now, and not when its interval is over. */
  nudge(taskId: string): void {
    const watch = this.watches.get(taskId)
    if (!watch) return
    if (watch.looking) watch.again = true
    else void this.look(taskId, watch)
  }

  /** Stops following everything. */
  close(): void {
    for (const watch of this.watches.values()) clearTimeout(watch.timer)
    this.watches.clear()
    this.stopListening()
  }

  /** Hears of changes at other replicas, where the store can tell. Without it, or when it breaks, looks go on at their own pace. */
  private subscribe(): void {
    const { bus } = this.engine.deps.records.backend
    if (!bus || this.unsubscribe) return
    this.unsubscribe = bus.subscribe((id) => this.nudge(id))
    this.unsubscribe.catch((error) => {
      this.unsubscribe = undefined
      this.engine.storeFault(error)
    })
  }

  private stopListening(): void {
    const ending = this.unsubscribe?.then((end) => end())
    this.unsubscribe = undefined
    if (ending) this.engine.deps.background(ending)
  }

  private leave(taskId: string, watcher: Watcher): void {
    const watch = this.watches.get(taskId)
    if (!watch?.watchers.delete(watcher) || watch.watchers.size > 0) return
    this.drop(taskId, watch)
  }

  private drop(taskId: string, watch: Watch): void {
    clearTimeout(watch.timer)
    if (this.watches.get(taskId) === watch) this.watches.delete(taskId)
    if (this.watches.size === 0) this.stopListening()
  }

  private async look(taskId: string, watch: Watch): Promise<void> {
    clearTimeout(watch.timer)
    watch.looking = true
    watch.again = false
    let wait = AFTER_FAULT_MS
    try {
      const stored = await this.engine.deps.records.load(taskId)
      // The outcome has expired while somebody listened: there is nothing more to tell.
      if (!stored) return this.drop(taskId, watch)
      const view = await this.engine.view(stored)
      wait = view.pollIntervalMs
      const changed =
        watch.last === undefined || view.lastUpdatedAt !== watch.last.lastUpdatedAt || view.status !== watch.last.status
      watch.last = view
      if (changed) for (const watcher of [...watch.watchers]) watcher(view)
      if (isOver(view.status)) return this.drop(taskId, watch)
    } catch (error) {
      this.engine.storeFault(error)
    } finally {
      watch.looking = false
    }
    // Everybody may have left while we looked.
    if (this.watches.get(taskId) !== watch) return
    if (watch.again) return this.look(taskId, watch)
    watch.timer = setTimeout(() => void this.look(taskId, watch), wait)
  }
}
