/**
 * Any HTTP API with job ids, described as data.
 *
 * ```ts
 * httpJob({
 *   baseUrl: 'https://farm.example/api',
 *   headers: { authorization: () => `Bearer ${process.env.FARM_TOKEN}` },
 *   create: { method: 'POST', path: '/jobs', body: { scene: '{input.scene}' }, id: 'id' },
 *   get:    { path: '/jobs/{ref.id}' },
 *   cancel: { method: 'POST', path: '/jobs/{ref.id}/cancel' },
 *   status: 'status',
 *   states: { queued: 'working', done: 'succeeded', error: 'failed', cancelled: 'cancelled' },
 *   message: '"stage " & stage & ", " & percent & "%"',
 *   result: 'output',
 * })
 * ```
 *
 * Two small languages, each for one direction. **Out**: `{placeholders}` build requests. **In**: JSONata expressions, or
 * functions, read answers.
 *
 * - *Placeholders*: `{input.x}` the tool's input, `{ref.x}` what finds the job, `{key}` the idempotency key, `{env.NAME}` the
 *   environment, `{question.key}` and `{answer.FIELD}` in answers to questions, `{ask.KEY.FIELD}` answers given before the job
 *   existed. They may stand in `path`, `query`, `headers`, `body` and `form`. A text that is one placeholder keeps the value's type;
 *   an absent value drops its member. In a path each value is one encoded segment. `{{x}}` is the literal text `{x}`.
 * - *Expressions* see the parsed body, and `$status`, `$headers`, `$ref`, `$input`, `$key`, and `$NAME` for each further read of
 *   `also`; and the functions `$json(text)` (JSON inside JSON) and `$tail(text, lines)`.
 * - *Ids* come from the body (`id: 'id'`) or a header (`id: { header: 'location', match: '/jobs/([^/?]+)' }`); a `Location` without
 *   `match` is kept as a place, for `path: '{ref.id}'`. Integers beyond 2^53 keep every digit.
 * - *Lists*: wherever one request stands, a list may stand; the first whose `when` holds is used. A look that yields a new ref member
 *   is followed by the next stage at once: queue item, then build.
 * - *States*: `status` values are compared as text, several joined with `/`; the most specific entry wins: `completed/success`,
 *   `completed/*`, `*`. A word that is not listed keeps the task working, and fails it only after `unknownStateMs`.
 * - *Faults*: an answer that is not 2xx and not in `accept` is a fault: looks go on and say so. `gone` (404 and 410 unless you say
 *   otherwise) means that the job does not exist.
 * - *Cancel*: without `cancel` the job cannot be cancelled, and the task says so. 404, 409 and 410 lead to one more look.
 */

import { checkDefinition, checkTool, compileAll } from '../src/declarative/compile.js'
import {
  cancelJob,
  createJob,
  type HttpLook,
  type Input,
  locateJob,
  lookAtJob,
  replyToJob,
  resultOfJob,
} from '../src/declarative/run.js'
import type { HttpJobDefinition, HttpRef } from '../src/declarative/types.js'
import { CHECK, type Checked, type JobAdapter } from '../src/define/index.js'

export type { HttpLook } from '../src/declarative/run.js'
export type {
  Expression,
  ExpressionVariables,
  GoneRule,
  HttpJobDefinition,
  HttpRef,
  QuestionsDefinition,
  RefSource,
  RequestDefinition,
  Requests,
} from '../src/declarative/types.js'

/**
 * Makes an adapter of a description.
 * @throws DefinitionError naming the member and the remedy, for everything that can be known to be wrong now.
 */
export function httpJob(definition: HttpJobDefinition): JobAdapter<Input, HttpRef, HttpLook> & Checked {
  checkDefinition(definition)
  const job = compileAll(definition)
  const { timeouts = {} } = definition
  return {
    create: (input, ctx) => createJob(job, input, ctx, timeouts.create),
    get: (ref, ctx) => lookAtJob(job, ref, ctx, timeouts.get),
    read: (seen) => seen.reading,
    ...(job.cancel ? { cancel: (ref, ctx) => cancelJob(job, ref, ctx, timeouts.cancel) } : {}),
    ...(job.questions
      ? { answer: (ref, question, answer, ctx) => replyToJob(job, ref, question, answer, ctx, timeouts.answer) }
      : {}),
    ...(job.locate ? { locate: (input, ctx) => locateJob(job, input, ctx, timeouts.create) } : {}),
    result: (ref, seen, ctx) => resultOfJob(job, ref, seen, ctx, timeouts.result),
    [CHECK]: (facts) => checkTool(definition, facts),
  }
}
