import type { FormSchema } from '../define/index.js'
import type { EndRecord, NumberedQuestion, PendingRecord, Snapshot, StoredResult } from '../store/records.js'
import { type LiveTask, shownQuestions } from './transition.js'

/** The five statuses of SEP-2663. */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** A question as it is shown to a client: frozen at its first showing. */
export interface ShownQuestion {
  key: string
  message: string
  form: FormSchema | undefined
  url: string | undefined
}

/** What a client may know of its task, before any protocol shapes it. Times are ISO 8601. */
export interface TaskView {
  taskId: string
  tool: string
  status: TaskStatus
  statusMessage: string
  createdAt: string
  lastUpdatedAt: string
  /** Milliseconds from creation: the deadline while the job runs, then the end of retention. Null for none. */
  ttlMs: number | null
  /** Milliseconds until the next look makes sense. */
  pollIntervalMs: number
  progress: { done: number; total?: number | undefined } | undefined
  url: string | undefined
  /** With `input_required`. */
  questions: ShownQuestion[]
  /** With `completed`. */
  result: StoredResult | undefined
  /** With `failed`. */
  error: { code: number; message: string; data?: unknown } | undefined
}

const iso = (ms: number) => new Date(ms).toISOString()

export function isOver(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** An ended task. */
export function viewOfEnd(end: EndRecord, pollIntervalMs: number): TaskView {
  return {
    taskId: end.id,
    tool: end.tool,
    status: end.status,
    statusMessage: end.message,
    createdAt: iso(end.createdAt),
    lastUpdatedAt: iso(Math.max(end.endedAt, end.createdAt)),
    ttlMs: Math.max(0, end.endedAt - end.createdAt) + end.retentionMs,
    pollIntervalMs,
    progress: undefined,
    url: end.url,
    questions: [],
    result: end.result,
    error: end.error as TaskView['error'],
  }
}

/** A task whose job is still being started. */
export function viewOfPending(pending: PendingRecord, cancelled: boolean, pollIntervalMs: number): TaskView {
  return {
    ...running(pending, pollIntervalMs),
    statusMessage: cancelled
      ? 'The job is being started. Cancel was requested; it is sent as soon as the job has an id.'
      : 'The job is being started.',
  }
}

function running(record: PendingRecord, pollIntervalMs: number): TaskView {
  return {
    taskId: record.id,
    tool: record.tool,
    status: 'working',
    statusMessage: '',
    createdAt: iso(record.createdAt),
    lastUpdatedAt: iso(record.createdAt),
    ttlMs: record.deadlineAt === null ? null : record.deadlineAt - record.createdAt,
    pollIntervalMs,
    progress: undefined,
    url: undefined,
    questions: [],
    result: undefined,
    error: undefined,
  }
}

/** A task whose job runs, as its last snapshot tells. */
export function viewOfLive(task: LiveTask, snapshot: Snapshot): TaskView {
  const questions = snapshot.status === 'input_required' ? shownQuestions(task.questions, snapshot) : []
  const asking = questions.length > 0
  return {
    ...running(task.job, snapshot.pollIntervalMs),
    status: asking ? 'input_required' : 'working',
    // Between an answer and the next look, the snapshot still tells of the question.
    statusMessage:
      asking || snapshot.status === 'working' ? snapshot.message : 'The answer was sent; waiting for the job to go on.',
    lastUpdatedAt: iso(snapshot.changedAt),
    progress: snapshot.progress,
    url: snapshot.url,
    questions: questions.map(shown),
  }
}

function shown(question: NumberedQuestion): ShownQuestion {
  return {
    key: question.key,
    message: question.message,
    form: question.form,
    url: question.url,
  }
}
