import type { CallerAuth, JobTool, Policy } from '../define/index.js'
import type { HttpCore } from '../http/types.js'
import type { Records, StoredRef } from '../store/records.js'
import type { TaskView } from './view.js'

/** A tool with its policy worked out. */
export interface ResolvedTool extends Omit<JobTool, 'policy'> {
  readonly policy: Policy
}

/** Who asks. */
export interface Caller {
  /** The caller's subject; null for a request without authentication. */
  readonly subject: string | null
  readonly authInfo: CallerAuth | undefined
}

/** Something that happened, for logs and metrics. Holds no secret and no result. */
export type JobEvent =
  | { type: 'created'; taskId: string; tool: string; ref: StoredRef }
  | { type: 'create_refused'; taskId: string; tool: string; reason: string }
  | { type: 'create_unknown'; taskId: string; tool: string; reason: string }
  | { type: 'looked'; taskId: string; tool: string; status: TaskView['status'] }
  | { type: 'ended'; taskId: string; tool: string; status: TaskView['status']; message: string }
  | { type: 'upstream_fault'; taskId: string; tool: string; operation: string; reason: string }
  | { type: 'unknown_state'; taskId: string; tool: string; word: string }
  | { type: 'cancel_sent'; taskId: string; tool: string; accepted: boolean; reason?: string }
  | { type: 'answer_sent'; taskId: string; tool: string; key: string }
  | { type: 'wait_abandoned'; taskId: string; tool: string }
  | { type: 'store_fault'; reason: string }
  | { type: 'warning'; message: string }

/** What the engine works with. Clock, random source and HTTP are handed in. */
export interface Deps {
  readonly records: Records
  readonly http: HttpCore
  readonly tools: ReadonlyMap<string, ResolvedTool>
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Fills a buffer of this many bytes with random values. */
  readonly randomBytes: (size: number) => Uint8Array
  readonly emit: (event: JobEvent) => void
  /** Work that goes on after its answer; `close` waits for it. */
  readonly background: (work: Promise<unknown>) => void
}
