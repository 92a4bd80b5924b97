import type { Answers, CreateContext, JobContext, ReadContext } from '../define/index.js'
import type { BoundHttp } from '../http/types.js'
import type { PendingRecord, StoredRef } from '../store/records.js'
import type { Caller, Deps } from './deps.js'
import { withLimit } from './limit.js'

/** Runs `create` or `locate` inside its time limit. */
export function runCreate<T>(
  deps: Deps,
  operation: 'create' | 'locate',
  limitMs: number,
  record: PendingRecord,
  caller: Caller | undefined,
  run: (ctx: CreateContext) => Promise<T>,
): Promise<T> {
  return withLimit(operation, limitMs, (signal) =>
    run({
      key: record.key,
      http: deps.http.bind({ signal, timeoutMs: limitMs }),
      signal,
      now: deps.now,
      owner: caller?.subject ?? undefined,
      authInfo: caller?.authInfo,
      answers: record.answers as Answers,
    }),
  )
}

/** Runs an operation on a job inside its time limit. */
export function runOnJob<T>(
  deps: Deps,
  operation: 'get' | 'cancel' | 'answer' | 'result',
  limitMs: number,
  record: PendingRecord,
  cancelRequested: boolean,
  run: (ctx: JobContext, http: BoundHttp) => Promise<T>,
): Promise<T> {
  return withLimit(operation, limitMs, (signal) => {
    // The next look asks again anyway: a sick upstream is not asked three times by each.
    const repeat = operation === 'get' ? 'unanswered' : 'any'
    const http = deps.http.bind({ signal, timeoutMs: limitMs, repeat })
    const { key, input, createdAt } = record
    return run({ key, http, signal, now: deps.now, input, createdAt, cancelRequested }, http)
  })
}

/** What `read` is given. */
export function readContext(
  record: PendingRecord,
  ref: StoredRef,
  now: number,
  cancelRequested: boolean,
): ReadContext<StoredRef> {
  const { key, input, createdAt } = record
  return { ref, key, input, createdAt, now, cancelRequested }
}
