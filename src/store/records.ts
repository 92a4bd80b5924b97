import { z } from 'zod'
import type { FormSchema } from '../define/index.js'
import { RecordError } from '../errors/index.js'
import type { Backend } from './types.js'

/*
 * What is stored of a task. Everything that two processes could race for is written once (`add`), under a key of its own:
 *
 *   new:ID      before the upstream is asked: a create that may be under way
 *   job:ID      the create was answered: here is the ref
 *   ref:ID      a later ref (queue item -> build)
 *   ask:ID:N    the Nth question as it was first shown
 *   ans:ID:N    the Nth question is spoken for: claimed, sent, or closed by the upstream
 *   cancel:ID   the client wants it cancelled
 *   end:ID      the outcome, complete in itself: nothing else is needed to answer from then on
 *   own:OWNER:TIME:ID   finds an owner's tasks, where the store can list
 *   soft: snap:ID, and the leases make:ID, look:ID and stop:ID
 */

const VERSION = 1
const text = z.string()
const time = z.number()
const refSchema = z.record(z.string(), z.union([z.string(), z.number()]))
const answerValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])
const answerSchema = z.object({ action: z.enum(['accept', 'decline']), content: z.record(z.string(), answerValue) })

const pendingSchema = z.object({
  id: text,
  tool: text,
  /** SHA-256 of the owner's subject; null for a task made without authentication. */
  owner: text.nullable(),
  createdAt: time,
  /** The idempotency key given to the upstream. */
  key: text,
  input: z.unknown(),
  answers: z.record(z.string(), answerSchema),
  deadlineAt: time.nullable(),
  retentionMs: time,
})
const jobSchema = pendingSchema.extend({ ref: refSchema, boundAt: time })
const refRecordSchema = z.object({ ref: refSchema, at: time })
const questionSchema = z.object({
  /** The key the client sees: unique over the task's life. */
  key: text,
  /** The adapter's own key. */
  source: text,
  message: text,
  form: z.custom<FormSchema>((value) => typeof value === 'object' && value !== null).optional(),
  url: text.optional(),
  at: time,
})
const markSchema = z.object({
  state: z.enum(['claimed', 'sent', 'closed']),
  at: time,
})
const cancelSchema = z.object({
  at: time,
  attempts: z.number(),
  /** When the last attempt was made. */
  triedAt: time.optional(),
  /** When the upstream accepted the request. */
  acceptedAt: time.optional(),
  /** Why it was not accepted. */
  problem: text.optional(),
})
const snapshotSchema = z.object({
  at: time,
  status: z.enum(['working', 'input_required']),
  message: text,
  url: text.optional(),
  progress: z.object({ done: z.number(), total: z.number().optional() }).optional(),
  pollIntervalMs: z.number(),
  /** When what the client sees last changed. */
  changedAt: time,
  /** Numbers of the questions that are open. */
  open: z.array(z.number()),
  trouble: z.object({ since: time, count: z.number(), reason: text }).optional(),
  unknown: z.object({ since: time, count: z.number(), word: text }).optional(),
})
const contentSchema = z.looseObject({ type: text })
const resultSchema = z.object({
  content: z.array(contentSchema),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
})
const endSchema = z.object({
  id: text,
  tool: text,
  owner: text.nullable(),
  createdAt: time,
  endedAt: time,
  status: z.enum(['completed', 'failed', 'cancelled']),
  message: text,
  url: text.optional(),
  result: resultSchema.optional(),
  error: z.object({ code: z.number(), message: text, data: z.unknown().optional() }).optional(),
  retentionMs: time,
})

export type StoredRef = z.infer<typeof refSchema>
export type PendingRecord = z.infer<typeof pendingSchema>
export type JobRecord = z.infer<typeof jobSchema>
export type AskedQuestion = z.infer<typeof questionSchema>
export type AnswerMark = z.infer<typeof markSchema>
export type CancelIntent = z.infer<typeof cancelSchema>
export type Snapshot = z.infer<typeof snapshotSchema>
export type EndRecord = z.infer<typeof endSchema>
/** What one replica at a time does to a task: make its job, look at it, stop it. */
export type LeaseName = 'make' | 'look' | 'stop'
/** What an outcome keeps of the record it ends. */
export type TaskIdentity = Pick<PendingRecord, 'id' | 'tool' | 'owner' | 'createdAt' | 'retentionMs'>
export type StoredResult = z.infer<typeof resultSchema>

/** A question with its number and what became of it. */
export interface NumberedQuestion extends AskedQuestion {
  n: number
  mark: AnswerMark | undefined
}

/** A task as stored. `undefined` means that there is none. */
export type StoredTask =
  | { kind: 'end'; end: EndRecord }
  | { kind: 'new'; pending: PendingRecord; cancel: CancelIntent | undefined }
  | {
      kind: 'job'
      job: JobRecord
      /** The current ref and since when it is. */
      ref: StoredRef
      refAt: number
      cancel: CancelIntent | undefined
      questions: NumberedQuestion[]
    }

/** The store's own expiry comes this much later than ours, so that a late reader never finds half a task. */
const SLACK_MS = 3_600_000
/** Nobody may look for a while after a deadline; the record waits for them. */
const UNSEEN_MS = 7 * 86_400_000

function encode(value: object): string {
  return JSON.stringify({ v: VERSION, ...value })
}

function decode<T>(schema: z.ZodType<T>, key: string, stored: string | undefined): T | undefined {
  if (stored === undefined) return undefined
  let value: unknown
  try {
    value = JSON.parse(stored)
  } catch (cause) {
    throw new RecordError(key, 'is not JSON; it is damaged, or another program wrote it', { cause })
  }
  const version = (value as { v?: unknown } | null)?.v
  if (typeof version === 'number' && version > VERSION) {
    throw new RecordError(
      key,
      `was written by a newer version of this library (format ${version}); update this process`,
    )
  }
  const parsed = version === VERSION ? schema.safeParse(value) : undefined
  if (!parsed?.success) {
    throw new RecordError(key, 'is damaged', parsed?.error ? { cause: parsed.error } : undefined)
  }
  return parsed.data
}

/** When the store may drop what belongs to a task that runs. */
function runningExpiry(record: PendingRecord): number | null {
  return record.deadlineAt === null ? null : record.deadlineAt + record.retentionMs + UNSEEN_MS
}

/** Base64url has no colon, and 15 digits of milliseconds last for 30,000 years: the keys sort by age. */
function ownKey(record: TaskIdentity): string {
  return `own:${record.owner ?? ''}:${String(record.createdAt).padStart(15, '0')}:${record.id}`
}

/** Until when an outcome is readable. */
export function readableUntil(end: EndRecord): number {
  return end.endedAt + end.retentionMs
}

/** Reads and writes tasks. Every method throws StoreError when the store fails, RecordError for a damaged entry. */
export class Records {
  constructor(
    readonly backend: Backend,
    private readonly now: () => number,
  ) {}

  /** Reads a task with all that belongs to it. */
  async load(id: string): Promise<StoredTask | undefined> {
    const keys = [`end:${id}`, `job:${id}`, `new:${id}`, `ref:${id}`, `cancel:${id}`, `ask:${id}:1`]
    const [end, job, pending, ref, cancel, firstQuestion] = await this.backend.main.getMany(keys)
    const ended = decode(endSchema, `end:${id}`, end)
    if (ended) return this.now() < readableUntil(ended) ? { kind: 'end', end: ended } : undefined
    const intent = decode(cancelSchema, `cancel:${id}`, cancel)
    const bound = decode(jobSchema, `job:${id}`, job)
    if (bound) {
      const moved = decode(refRecordSchema, `ref:${id}`, ref)
      return {
        kind: 'job',
        job: bound,
        ref: moved?.ref ?? bound.ref,
        refAt: moved?.at ?? bound.boundAt,
        cancel: intent,
        questions: firstQuestion === undefined ? [] : await this.questions(id),
      }
    }
    const started = decode(pendingSchema, `new:${id}`, pending)
    return started && { kind: 'new', pending: started, cancel: intent }
  }

  private async questions(id: string): Promise<NumberedQuestion[]> {
    const found: NumberedQuestion[] = []
    for (let n = 1; ; n++) {
      const [asked, mark] = await this.backend.main.getMany([`ask:${id}:${n}`, `ans:${id}:${n}`])
      const question = decode(questionSchema, `ask:${id}:${n}`, asked)
      if (!question) return found
      found.push({ ...question, n, mark: decode(markSchema, `ans:${id}:${n}`, mark) })
    }
  }

  /** Writes ahead of a create. */
  async addPending(record: PendingRecord): Promise<void> {
    // Side by side, so that a store that flushes flushes once.
    await Promise.all([
      this.backend.main.add(`new:${record.id}`, encode(record), runningExpiry(record)),
      this.own(record, runningExpiry(record)),
    ])
  }

  private async own(record: TaskIdentity, expiresAt: number | null): Promise<void> {
    if (this.backend.keys) await this.backend.main.set(ownKey(record), '', expiresAt)
  }

  /** Drops the record of a create that certainly made no job. */
  async dropPending(id: string): Promise<void> {
    await this.backend.main.delete(`new:${id}`)
  }

  /** Forgets a task that never came to be. */
  async forget(record: PendingRecord): Promise<void> {
    await this.dropPending(record.id)
    if (this.backend.keys) await this.backend.main.delete(ownKey(record))
  }

  /** An owner's tasks, newest first, as `TIME:ID`. Empty where the store cannot list. */
  async owned(owner: string | null): Promise<string[]> {
    const prefix = `own:${owner ?? ''}:`
    const found: string[] = []
    for await (const key of this.backend.keys?.(prefix) ?? []) found.push(key.slice(prefix.length))
    return found.sort().reverse()
  }

  /** Binds the task to its job. */
  async bind(record: PendingRecord, ref: StoredRef): Promise<JobRecord> {
    const job: JobRecord = { ...record, ref, boundAt: this.now() }
    await this.backend.main.add(`job:${record.id}`, encode(job), runningExpiry(record))
    return job
  }

  /** The job has a new ref. */
  async moveRef(record: PendingRecord, ref: StoredRef): Promise<void> {
    await this.backend.main.set(`ref:${record.id}`, encode({ ref, at: this.now() }), runningExpiry(record))
  }

  /** Freezes question `n`; answers what stands there, which may be another process's. */
  async ask(record: PendingRecord, n: number, question: AskedQuestion): Promise<NumberedQuestion> {
    const key = `ask:${record.id}:${n}`
    if (await this.backend.main.add(key, encode(question), runningExpiry(record)))
      return { ...question, n, mark: undefined }
    const [asked, mark] = await this.backend.main.getMany([key, `ans:${record.id}:${n}`])
    const standing = decode(questionSchema, key, asked)
    if (!standing) throw new RecordError(key, 'vanished while it was read')
    return { ...standing, n, mark: decode(markSchema, `ans:${record.id}:${n}`, mark) }
  }

  /** Claims question `n` for an answer. @returns false when it is already spoken for. */
  claimAnswer(record: PendingRecord, n: number): Promise<boolean> {
    return this.backend.main.add(
      `ans:${record.id}:${n}`,
      encode({ state: 'claimed', at: this.now() }),
      runningExpiry(record),
    )
  }

  /** Says what became of question `n`. */
  async markAnswer(record: PendingRecord, n: number, state: AnswerMark['state']): Promise<void> {
    await this.backend.main.set(`ans:${record.id}:${n}`, encode({ state, at: this.now() }), runningExpiry(record))
  }

  /** Gives a claimed question back. */
  async releaseAnswer(id: string, n: number): Promise<void> {
    await this.backend.main.delete(`ans:${id}:${n}`)
  }

  /** Stores the wish to cancel, once. */
  async addCancel(record: PendingRecord): Promise<void> {
    const intent: CancelIntent = { at: this.now(), attempts: 0 }
    await this.backend.main.add(`cancel:${record.id}`, encode(intent), runningExpiry(record))
  }

  /** Says how the last cancel request went. */
  async setCancel(record: PendingRecord, intent: CancelIntent): Promise<void> {
    await this.backend.main.set(`cancel:${record.id}`, encode(intent), runningExpiry(record))
  }

  /** Writes the outcome: the first one stands. @returns the outcome that stands. */
  async end(outcome: EndRecord): Promise<EndRecord> {
    const key = `end:${outcome.id}`
    const expiry = readableUntil(outcome) + SLACK_MS
    const [first] = await Promise.all([
      this.backend.main.add(key, encode(outcome), expiry),
      this.own(outcome, readableUntil(outcome)),
    ])
    const standing = first ? outcome : decode(endSchema, key, await this.backend.main.get(key))
    if (!standing) throw new RecordError(key, 'vanished while it was read')
    return standing
  }

  /** Drops what an ended task no longer needs. Its outcome is complete in itself, so nothing is lost when this fails. */
  async tidy(id: string, questions: number): Promise<void> {
    const asked = Array.from({ length: questions }, (_, at) => [`ask:${id}:${at + 1}`, `ans:${id}:${at + 1}`]).flat()
    // `job:` goes last: while it is there, a listing finds the task again.
    const keys = [`new:${id}`, `ref:${id}`, `cancel:${id}`, ...asked, `job:${id}`]
    for (const key of keys) await this.backend.main.delete(key)
    await this.backend.soft.delete(`snap:${id}`)
  }

  /** The last snapshot. A damaged one counts as none: it is only a memory of the upstream. */
  async snapshot(id: string): Promise<Snapshot | undefined> {
    const stored = await this.backend.soft.get(`snap:${id}`)
    try {
      return decode(snapshotSchema, `snap:${id}`, stored)
    } catch {
      return undefined
    }
  }

  async setSnapshot(record: PendingRecord, snapshot: Snapshot): Promise<void> {
    await this.backend.soft.set(`snap:${record.id}`, encode(snapshot), runningExpiry(record))
  }

  /** The next look must not be answered from the snapshot. */
  async ageSnapshot(record: PendingRecord): Promise<void> {
    const snapshot = await this.snapshot(record.id)
    if (snapshot) await this.setSnapshot(record, { ...snapshot, at: 0 })
  }

  /** Takes the right to look upstream (or to send its cancel) for at most `ms`. @returns false while another has it. */
  takeLease(id: string, what: LeaseName, ms: number): Promise<boolean> {
    return this.backend.soft.add(`${what}:${id}`, encode({}), this.now() + ms)
  }

  /** Keeps a lease of ours for `ms` more. */
  async keepLease(id: string, what: LeaseName, ms: number): Promise<void> {
    await this.backend.soft.set(`${what}:${id}`, encode({}), this.now() + ms)
  }

  async dropLease(id: string, what: LeaseName): Promise<void> {
    await this.backend.soft.delete(`${what}:${id}`)
  }

  /** Claims a one-time value. @returns the value that stands: ours, or an earlier one. */
  async claim(name: string, value: string, ttlMs: number | null): Promise<string> {
    const key = `once:${name}`
    if (await this.backend.main.add(key, value, ttlMs === null ? null : this.now() + ttlMs)) return value
    const standing = await this.backend.main.get(key)
    if (standing === undefined) throw new RecordError(key, 'vanished while it was read')
    return standing
  }

  /** The ids of tasks that have not ended, as far as the store can list: `new` ones still await their job. */
  async *unended(what: 'new' | 'job'): AsyncIterable<string> {
    const prefix = `${what}:`
    for await (const key of this.backend.keys?.(prefix) ?? []) yield key.slice(prefix.length)
  }
}
