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
 * functions, read answers. Mistakes in either surface when the tool is defined: misspelt members, placeholders that no input has,
 * variables and ref members that nothing gives.
 *
 * - *Placeholders*: `{input.x}` the tool's input, `{ref.x}` what finds the job, `{key}` the idempotency key, `{env.NAME}` the
 *   environment, `{question.key}` (`{question.number}` where a number is due) and `{answer.FIELD}` in answers to questions,
 *   `{ask.KEY.FIELD}` answers given before the job existed, in `prepare`, `create` and `locate`. They may stand in `path`, `query`,
 *   `headers`, `body` and `form`. A text that is one placeholder keeps the value's type; an absent value drops its member. In a path
 *   each value is one encoded segment, or a part of one. `{{input.x}}` is the literal text `{input.x}`. `baseUrl` may hold `{env.NAME}`
 *   and nothing else, `path` everything else.
 * - *Expressions* see the parsed body, and `$status`, `$headers`, `$ref`, `$input`, `$key`, `$cancelRequested`, and `$NAME` for each
 *   further read of `also`; and the functions `$json(text)` (JSON inside JSON) and `$tail(text, lines)`. They are bounded in time and
 *   size whatever the upstream answers; regular expressions are those of RE2. `message`, `progress`, `url` and `error` are
 *   decoration: where they fail they are left out. `status` and `questions` are not: where they fail, the look has failed.
 * - *Requests*: `method` is `GET` unless it is given; `create`, `cancel` and answers must give it. `create` and answers are sent once, and
 *   so must not be GETs. A request with another `baseUrl` sends the definition's `headers` only to the same origin: what
 *   another one needs (an admin port, another token) stands in its own `headers`.
 * - *Ids* come from the body (`id: 'id'`) or a header (`id: { header: 'location', match: '/jobs/([^/?]+)' }`); a `Location` without
 *   `match` is kept as a place, re-based onto the configured origin, for `path: '{ref.id}'`. Integers beyond 2^53 keep every digit.
 *   A create that answers no id needs `locate`, which is then asked until it finds the job.
 * - *Lists*: wherever one request stands, a list may stand; the first whose `when` holds is used. A look that yields a new ref member
 *   is followed by the next stage at once: queue item, then build. If that one cannot be read yet, the first one's word stands.
 * - *States*: `status` values are compared as text, several joined with `/`; the most specific entry wins: `completed/success`,
 *   `completed/*`, `*`. A word that is not listed keeps the task working, and fails it only after `unknownStateMs`.
 * - *Faults*: an answer that is neither 2xx nor in `accept` is a fault, and is thrown: looks go on and say so until `unreachableMs`.
 *   `gone` (404 and 410 unless you say otherwise) means that the job does not exist; in `also` nothing means that. A create that was
 *   answered without an id may have started a job, and the caller is told that nobody knows.
 * - *Cancel*: without `cancel` the job cannot be cancelled, and the task says so. 404, 409 and 410 lead to one more look.
 * - *Questions* that a look lists make a working job wait for a person. Without `decline` a person who declines is told that the upstream
 *   has no such thing; the question stays open.
 * - *Results*: a text is text, anything else is structured. Of a request that asks for text (`headers: { accept: 'text/plain' }`)
 *   the end is kept, and marked as output of the job.
 */

import { checkDefinition } from '../src/declarative/check.js'
import { checkTool } from '../src/declarative/check-tool.js'
import { compileJob } from '../src/declarative/compile.js'
import { createJob, locateJob } from '../src/declarative/create.js'
import { type HttpLook, lookAtJob } from '../src/declarative/look.js'
import { cancelJob, replyToJob, resultOfJob } from '../src/declarative/operations.js'
import type { HttpJobDefinition, HttpRef } from '../src/declarative/types.js'
import { CHECK, type Checked, type JobAdapter } from '../src/define/index.js'

export type { HttpLook } from '../src/declarative/look.js'
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
 * Makes an adapter of a description. It fits any tool whose input is an object.
 * @throws DefinitionError naming the member and the remedy, for everything that can be known to be wrong now. What only the tool
 *   can tell (the members of its input, whether it asks) is checked by `defineJobTool`.
 */
export function httpJob(definition: HttpJobDefinition): JobAdapter<object, HttpRef, HttpLook> & Checked {
  const checked = checkDefinition(definition)
  const job = compileJob(definition)
  return {
    create: (input, ctx) => createJob(job, input, ctx),
    get: (ref, ctx) => lookAtJob(job, ref, ctx),
    read: (look) => look.reading,
    ...(job.cancel ? { cancel: (ref, ctx) => cancelJob(job, ref, ctx) } : {}),
    ...(job.questions ? { answer: (ref, question, answer, ctx) => replyToJob(job, ref, question, answer, ctx) } : {}),
    ...(job.locate ? { locate: (input, ctx) => locateJob(job, input, ctx) } : {}),
    result: (ref, look, ctx) => resultOfJob(job, ref, look, ctx),
    [CHECK]: (facts) => checkTool(definition, checked, facts),
  }
}
