import type { FormField, Phase } from '../define/index.js'
import type { HeaderValue } from '../http/index.js'

/** What an expression sees besides the body. In JSONata each is a variable: `$status`, `$headers`, `$ref`, `$input`, `$key`, `$NAME`. */
export interface ExpressionVariables {
  /** The HTTP status of the answer. */
  readonly status: number
  /** Headers of the answer; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly ref: HttpRef
  readonly input: unknown
  /** The idempotency key. */
  readonly key: string
  /** The bodies of the further reads of the same look, by their names in `also`. */
  readonly also: Readonly<Record<string, unknown>>
}

/** Reads a value out of an answer: a JSONata expression over the parsed body, or a function of it. */
export type Expression = string | ((body: unknown, variables: ExpressionVariables) => unknown)

/** Where a member of the ref comes from: an expression, or a header of the answer, `match` taking its first group. */
export type RefSource = Expression | { header: string; match?: string }

/** What finds the job again. `id` is its usual member. */
export type HttpRef = Record<string, string | number>

/** States of the upstream, by their words. `*` stands for any word; several status expressions are joined with `/`. */
export type States = Record<string, Phase> & { caseInsensitive?: never }

/** One request. Text may hold `{placeholders}`. */
export interface RequestDefinition {
  /** Default `GET`. */
  method?: string
  /** Below the base URL. Each placeholder fills one segment, or a part of one; `{ref.x}` alone may be a path that the upstream gave. */
  path: string
  query?: Record<string, unknown>
  headers?: Record<string, HeaderValue>
  /** Sent as JSON. */
  body?: unknown
  /** Sent as a form. */
  form?: Record<string, unknown>
  /** Another base URL than the definition's. */
  baseUrl?: string
  /** Statuses besides 2xx whose answer is read and not a fault. */
  accept?: number[]
  /** Whether this request of a list is the one to use. */
  when?: Expression
  /** Short for `ref: { id }`. */
  id?: RefSource
  /** Members that the answer adds to the ref. */
  ref?: Record<string, RefSource>
  /** What the answer of a result request gives. */
  value?: Expression
  /** For a stage of `get`: its own status, states and message. */
  status?: Expression | Expression[]
  states?: Record<string, Phase>
  message?: Expression
}

/** One request, or a list of which the first whose `when` holds is used. */
export type Requests = RequestDefinition | RequestDefinition[]

/** How a person's gate is found, shown and answered. */
export interface QuestionsDefinition {
  /** The open questions in a look: one item or many. */
  list: Expression
  /** Over an item. */
  key: Expression
  message: Expression
  /** Fields of the form by name, or an expression over an item that gives them. */
  form?: Record<string, FormField> | Expression
  /** Sent when the person accepts. A `ref` in it moves the task to a new job. */
  accept: Requests
  /** Sent when the person declines. Without it the job goes on waiting, and the answer says so. */
  decline?: Requests
}

/** What means "this job does not exist". */
export interface GoneRule {
  status: number | number[]
  /** A regular expression that the body must match as well. */
  body?: string
}

/** A job API as data. See `httpJob`. */
export interface HttpJobDefinition {
  /** The root of the API. May hold `{env.NAME}`, never input. */
  baseUrl: string
  /** Headers of every request: text, which may hold `{env.NAME}`, or a function called for each request. */
  headers?: Record<string, HeaderValue>
  /** Time limits of single requests in milliseconds; the tool's own limits hold as well. */
  timeouts?: { create?: number; get?: number; cancel?: number; answer?: number; result?: number }
  /** Sent before `create`, in order; what their `ref` adds is there for `create`. */
  prepare?: RequestDefinition[]
  /** Starts the job. Sent once, never repeated. */
  create: Requests
  /** Finds the job after a create whose outcome is unknown, by the idempotency key for instance. */
  locate?: Requests
  /** Reads the job. Several stages follow one another within a look as the ref grows. */
  get: Requests
  /** Further reads in the same look, in order, seen by expressions as `$NAME`. */
  also?: Record<string, Requests>
  status: Expression | Expression[]
  states: Record<string, Phase>
  /** Whether the words of `states` are compared without regard to case. */
  caseInsensitive?: boolean
  message?: Expression
  /** A percentage, or `{ done, total }`. */
  progress?: Expression
  /** Where a person can look at the job. */
  url?: Expression
  /** What went wrong, for a failed job. */
  error?: Expression
  /** What the job gave: read off the look, or by one more request after the end. */
  result?: Expression | (RequestDefinition & { value?: Expression }) | RequestDefinition[]
  /** Answers of 404, 409 and 410 mean "nothing to cancel": the next look tells. */
  cancel?: Requests
  questions?: QuestionsDefinition
  /** Default: status 404 or 410. */
  gone?: GoneRule
}
