import type { Policy, Question, Reading } from '../define/index.js'
import type { PaceHints } from '../http/types.js'
import type { CancelIntent, JobRecord, NumberedQuestion, Snapshot, StoredRef } from '../store/records.js'
import { nextPollIntervalMs } from './pace.js'
import { planQuestions, type QuestionPlan } from './questions.js'
import { duration, jobLabel, statusLine } from './words.js'

/** All that is known of a task whose job may still run. */
export interface LiveTask {
  job: JobRecord
  ref: StoredRef
  refAt: number
  cancel: CancelIntent | undefined
  questions: readonly NumberedQuestion[]
  snapshot: Snapshot | undefined
}

/** What one look found. */
export type Sighting =
  | { kind: 'reading'; reading: Reading<StoredRef>; hints: PaceHints }
  | { kind: 'fault'; reason: string; hints: PaceHints }

/** Why a task ends in another way than by its job's own end. */
export type Loss = 'gone' | 'unreachable' | 'unknown_state' | 'deadline'

/** What the task is after a look. */
export type Verdict =
  | { kind: 'live'; snapshot: Snapshot; plan: QuestionPlan | undefined; ref: StoredRef | undefined }
  | {
      kind: 'ended'
      phase: 'succeeded' | 'failed' | 'cancelled'
      message: string
      url: string | undefined
      ref: StoredRef | undefined
    }
  | {
      kind: 'lost'
      loss: Loss
      message: string
      url: string | undefined
      ref: StoredRef | undefined
      cancelUpstream: boolean
    }

/** What the engine can do for this tool. */
export interface Abilities {
  canAnswer: boolean
  canCancel: boolean
}

/** A single failed look, or two, may be a clock that jumped; three in a row over the limit are not. */
const FEWEST_FAULTS = 3
const FEWEST_UNKNOWN = 2
/** How long after its time limit a claimed answer counts as left behind by a crash. */
const CLAIM_SLACK_MS = 30_000

const DEFAULT_MESSAGES: Record<'working' | 'input_required' | 'succeeded' | 'failed' | 'cancelled', string> = {
  working: 'The job is running.',
  input_required: 'The job waits for an answer.',
  succeeded: 'The job succeeded.',
  failed: 'The job failed.',
  cancelled: 'The job was cancelled.',
}

/** What a running task says besides the upstream's own words. */
function cancelNote(cancel: CancelIntent | undefined, abilities: Abilities): string {
  if (!cancel) return ''
  if (!abilities.canCancel) return ' Cancel was requested, but this kind of job cannot be cancelled: it goes on.'
  if (cancel.acceptedAt !== undefined) return ' Cancel was requested; waiting for the job to stop.'
  return cancel.problem ? ` Cancel was requested, but not accepted yet: ${cancel.problem}` : ' Cancel was requested.'
}

interface Look {
  task: LiveTask
  policy: Policy
  abilities: Abilities
  now: number
  hints: PaceHints
}

/** The snapshot that follows; `changedAt` moves only when what the client sees does, and never backwards. */
function nextSnapshot(
  look: Look,
  next: Omit<Snapshot, 'at' | 'pollIntervalMs' | 'changedAt'>,
  hintMs?: number,
): Snapshot {
  const { task, policy, now, hints } = look
  const before = task.snapshot
  const message = `${next.message}${cancelNote(task.cancel, look.abilities)}`
  const floor = before?.changedAt ?? task.job.createdAt
  const same =
    before !== undefined &&
    before.status === next.status &&
    before.message === message &&
    sameList(before.open, next.open)
  return {
    ...next,
    message,
    at: now,
    changedAt: same ? floor : Math.max(floor, now),
    pollIntervalMs: nextPollIntervalMs({
      policy,
      ageMs: Math.max(0, now - task.job.createdAt),
      hintMs,
      hints,
      faults: next.trouble?.count,
      cancelling: task.cancel !== undefined,
    }),
  }
}

function sameList(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((value, at) => value === other[at])
}

/** A task whose job has not been read yet. */
export function firstSnapshot(task: LiveTask, policy: Policy, abilities: Abilities, now: number): Snapshot {
  const look: Look = { task, policy, abilities, now, hints: {} }
  const first = nextSnapshot(look, { status: 'working', message: `Started: ${jobLabel(task.ref)}.`, open: [] })
  // Nothing has been seen yet, so nothing has changed since the task was made.
  return { ...first, changedAt: task.job.createdAt }
}

/**
 * What a look means for a task. Pure: the same task, sighting and time always give the same verdict. The caller stores it.
 */
export function observe(
  task: LiveTask,
  sighting: Sighting,
  policy: Policy,
  abilities: Abilities,
  now: number,
): Verdict {
  const look: Look = { task, policy, abilities, now, hints: sighting.hints }
  const verdict = sighting.kind === 'fault' ? onFault(look, sighting.reason) : onReading(look, sighting.reading)
  return verdict.kind === 'live' ? withDeadline(look, verdict) : verdict
}

function onFault(look: Look, reason: string): Verdict {
  const { task, policy, now } = look
  const before = task.snapshot
  const since = Math.min(before?.trouble?.since ?? now, now)
  const count = (before?.trouble?.count ?? 0) + 1
  if (now - since >= policy.unreachableMs && count >= FEWEST_FAULTS) {
    const message = `${capital(jobLabel(task.ref))} could not be read for ${duration(now - since)}: ${reason}`
    return { kind: 'lost', loss: 'unreachable', message, url: before?.url, ref: undefined, cancelUpstream: false }
  }
  const last = before && !before.trouble ? before.message : undefined
  const message = statusLine({
    message: `The state of ${jobLabel(task.ref)} cannot be read at the moment (${reason}); it will be tried again.${last ? ` Last known: ${last}` : ''}`,
  })
  const snapshot = nextSnapshot(look, {
    status: before?.status ?? 'working',
    // While the trouble lasts, the line stays the same unless its reason changes: the last known state is told once.
    message: before?.trouble?.reason === reason ? withoutNote(before.message, look) : message,
    url: before?.url,
    progress: before?.progress,
    open: before?.open ?? [],
    unknown: before?.unknown,
    trouble: { since, count, reason },
  })
  return { kind: 'live', snapshot, plan: undefined, ref: undefined }
}

function withoutNote(message: string, look: Look): string {
  const note = cancelNote(look.task.cancel, look.abilities)
  return note && message.endsWith(note) ? message.slice(0, -note.length) : message
}

function onReading(look: Look, reading: Reading<StoredRef>): Verdict {
  const { task } = look
  const url = reading.url ?? task.snapshot?.url
  switch (reading.phase) {
    case 'succeeded':
    case 'failed':
    case 'cancelled': {
      const message = statusLine({ message: reading.message ?? DEFAULT_MESSAGES[reading.phase] })
      return { kind: 'ended', phase: reading.phase, message, url, ref: reading.ref }
    }
    case 'gone':
      return onGone(look, reading, url)
    case 'unknown':
      return onUnknown(look, reading, url)
    case 'working':
    case 'input_required':
      return onRunning(look, reading, reading.phase, url)
    default:
      // An adapter without types may say anything: an unheard-of phase is an unknown state, never a throw.
      return onUnknown(look, { ...reading, message: String(reading.phase) }, url)
  }
}

function onRunning(
  look: Look,
  reading: Reading<StoredRef>,
  phase: 'working' | 'input_required',
  url: string | undefined,
): Verdict {
  const { task, policy, abilities, now } = look
  const listing = phase === 'input_required' && abilities.canAnswer ? (reading.questions ?? []) : []
  const plan = planQuestions(task.questions, listing, now - policy.timeouts.answer - CLAIM_SLACK_MS)
  const asking = plan.open.length + plan.fresh.length > 0
  const [first] = listing
  const fallback =
    !asking && plan.answered > 0 ? 'The answer was sent; waiting for the job to go on.' : DEFAULT_MESSAGES[phase]
  const message = asking ? (reading.message ?? first?.message ?? fallback) : (reading.message ?? fallback)
  const snapshot = nextSnapshot(
    look,
    {
      status: asking ? 'input_required' : 'working',
      message: statusLine({ message, progress: reading.progress, url }),
      url,
      progress: reading.progress,
      open: plan.open,
    },
    reading.pollIntervalMs,
  )
  return { kind: 'live', snapshot, plan, ref: reading.ref }
}

function onUnknown(look: Look, reading: Reading<StoredRef>, url: string | undefined): Verdict {
  const { task, policy, now } = look
  const word = reading.message ?? ''
  const since = Math.min(task.snapshot?.unknown?.since ?? now, now)
  const count = (task.snapshot?.unknown?.count ?? 0) + 1
  const named = word === '' ? 'gave no state' : `is in the state "${word}", which this tool does not know`
  if (now - since >= policy.unknownStateMs && count >= FEWEST_UNKNOWN) {
    const message = statusLine({
      message: `${capital(jobLabel(task.ref))} ${named}, for ${duration(now - since)} now.`,
    })
    return { kind: 'lost', loss: 'unknown_state', message, url, ref: reading.ref, cancelUpstream: false }
  }
  const snapshot = nextSnapshot(
    look,
    {
      status: 'working',
      message: statusLine({ message: `${capital(jobLabel(task.ref))} ${named}.`, progress: reading.progress, url }),
      url,
      progress: reading.progress,
      open: [],
      unknown: { since, count, word },
    },
    reading.pollIntervalMs,
  )
  return { kind: 'live', snapshot, plan: undefined, ref: reading.ref }
}

function onGone(look: Look, reading: Reading<StoredRef>, url: string | undefined): Verdict {
  const { task, policy, now } = look
  const name = jobLabel(task.ref)
  if (task.cancel?.acceptedAt !== undefined) {
    // Some upstreams drop a job that is cancelled before it runs: that it is gone is the wanted outcome.
    const message = `${capital(name)} was cancelled, and the upstream has dropped it.`
    return { kind: 'ended', phase: 'cancelled', message, url, ref: undefined }
  }
  const age = now - task.refAt
  if (age >= 0 && age < policy.notFoundGraceMs) {
    const snapshot = nextSnapshot(look, {
      status: 'working',
      message: statusLine({ message: `${capital(name)} was started and is not visible yet.`, url }),
      url,
      open: task.snapshot?.open ?? [],
    })
    return { kind: 'live', snapshot, plan: undefined, ref: undefined }
  }
  const last = task.snapshot ? ` Last known: ${task.snapshot.message}` : ''
  const message = statusLine({
    message: `${capital(name)} no longer exists upstream.${reading.message ? ` ${reading.message}` : ''}${last}`,
  })
  return { kind: 'lost', loss: 'gone', message, url, ref: undefined, cancelUpstream: false }
}

function withDeadline(look: Look, verdict: Verdict & { kind: 'live' }): Verdict {
  const { task, policy, now } = look
  const { deadlineAt, createdAt } = task.job
  if (deadlineAt === null || now < deadlineAt) return verdict
  const stopping = policy.cancelOnDeadline && look.abilities.canCancel
  const message =
    `${capital(jobLabel(task.ref))} did not end within ${duration(deadlineAt - createdAt)}. ` +
    (stopping ? 'It was asked to stop.' : 'It may still be running.')
  return {
    kind: 'lost',
    loss: 'deadline',
    message,
    url: verdict.snapshot.url,
    ref: verdict.ref,
    cancelUpstream: stopping,
  }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Whether a question that a person may answer is open. @returns it, or undefined. */
export function openQuestion(task: LiveTask, key: string): NumberedQuestion | undefined {
  return task.questions.find((question) => question.key === key && question.mark === undefined)
}

/** The questions that the client sees, in the order they were asked. */
export function shownQuestions(
  questions: readonly NumberedQuestion[],
  snapshot: Snapshot | undefined,
): NumberedQuestion[] {
  const open = new Set(snapshot?.open ?? [])
  return questions.filter((question) => open.has(question.n) && question.mark === undefined)
}

/** A question as the client sees it first, and from then on. */
export function freeze(question: Question, key: string, at: number) {
  return {
    key,
    source: question.key,
    message: question.message.slice(0, 2_000).toWellFormed(),
    ...(question.form ? { form: question.form } : {}),
    ...(question.url ? { url: question.url } : {}),
    at,
  }
}
