import type { FormField, Phase } from '../define/index.js'
import type { HeaderValue } from '../http/index.js'

/**
 * What an expression sees besides the body. In JSONata each is a variable: `$status`, `$headers`, `$ref`, `$input`, `$key`,
 * `$cancelRequested`, and `$NAME` for each member of `also`.
 */
export interface ExpressionVariables {
  /** The HTTP status of the answer; 0 where there is no answer yet, in `when`. */
  readonly status: number
  /** Headers of the answer; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** What finds the job; as far as it is known. */
  readonly ref: HttpRef
  /** The input of the call that made the job. */
  readonly input: unknown
  /** The idempotency key. */
  readonly key: string
  /** True once the client has asked to cancel: some upstreams report a cancelled job as one that failed. */
  readonly cancelRequested: boolean
  /** The bodies of the further reads of the same look, by their names in `also`. */
  readonly also: Readonly<Record<string, unknown>>
}

/** Reads a value out of an answer: a JSONata expression over the parsed body, or a function of it. */
export type Expression = string | ((body: unknown, variables: ExpressionVariables) => unknown)

/**
 * Where a member of the ref comes from: an expression, or a header of the answer. `match` is a regular expression (RE2) whose first
 * group is the value. A `Location` without `match` is kept as a place, for `path: '{ref.id}'`.
 */
export type RefSource = Expression | { header: string; match?: string }

/** What finds the job again. `id` is its usual member. It is stored, so nothing secret belongs in it. */
export type HttpRef = Record<string, string | number>

/** One request. Its texts may hold `{placeholders}`. */
export interface RequestDefinition {
  /** In capitals. Default `GET`, except where a request changes something: there it must be said. */
  method?: string
  /**
   * Below the base URL. Each placeholder fills one segment, or a part of one. `{ref.x}` as the whole path may be a URL or a path that
   * the upstream gave; it is followed on the configured origin.
   */
  path: string
  /** Members that are lists repeat the name; absent and null ones are dropped. */
  query?: Record<string, unknown>
  /** They come on top of the definition's. */
  headers?: Record<string, HeaderValue>
  /** Sent as JSON. */
  body?: unknown
  /** Sent as `application/x-www-form-urlencoded`, like a query. */
  form?: Record<string, unknown>
  /** Another base URL than the definition's. On another origin the definition's headers are not sent. */
  baseUrl?: string
  /** Statuses besides 2xx whose answer is read and not a fault. Redirects are not followed: list them to read their headers. */
  accept?: number[]
  /** Whether this request of a list is the one to use. Over `$ref`, `$input` and `$key`; in `also` and `result` over the look as well. */
  when?: Expression
  /** Short for `ref: { id }`. */
  id?: RefSource
  /** Members that the answer adds to the ref. In `prepare`, `create`, `locate`, `get` and answers to questions. */
  ref?: Record<string, RefSource>
  /** What the answer of a `result` request gives; without it, the whole body. */
  value?: Expression
  /** For a stage of `get`: its own status, states and message, in place of the definition's. */
  status?: Expression | Expression[]
  states?: Record<string, Phase>
  message?: Expression
}

/** One request, or a list of which the first whose `when` holds is used. */
export type Requests = RequestDefinition | RequestDefinition[]

/** How a person's gate is found, shown and answered. */
export interface QuestionsDefinition {
  /** The open questions in a look: one item or many, nothing where there are none. Read while the job is working or waiting. */
  list: Expression
  /** Over an item: the upstream's own key for the question. */
  key: Expression
  /** Over an item: what the person reads. */
  message: Expression
  /** Fields of the form by name, or an expression over an item that gives them. Without it: accept or decline. */
  form?: Record<string, FormField> | Expression
  /** Sent when the person accepts. A `ref` in it moves the task to a new job. */
  accept: Requests
  /** Sent when the person declines. Without it the job goes on waiting, and the answer says so. */
  decline?: Requests
}

/** What means "this job does not exist", in answers to `get`. */
export interface GoneRule {
  status: number | number[]
  /** A regular expression (RE2) that must be found in the body as well. */
  body?: string
}

/** A job API as data. See `httpJob`. Functions aside, all of it can be written in YAML or JSON as well. */
export interface HttpJobDefinition {
  /** The root of the API. May hold `{env.NAME}`, never input. */
  baseUrl: string
  /** Headers of every request to that origin: text, which may hold `{env.NAME}`, or a function called for each request. */
  headers?: Record<string, HeaderValue>
  /** Time limits of single requests in milliseconds; the tool's own limits hold as well. */
  timeouts?: { create?: number; get?: number; cancel?: number; answer?: number; result?: number }
  /** Sent before `create`, in order, those whose `when` does not hold left out; what their `ref` adds is there for `create`. */
  prepare?: RequestDefinition | RequestDefinition[]
  /** Starts the job. Sent once, never repeated. */
  create: Requests
  /** Finds the job after a create whose outcome is unknown, by the idempotency key for instance. */
  locate?: Requests
  /** Reads the job. Several stages follow one another within a look as the ref grows. */
  get: Requests
  /** Further reads in the same look, in order, seen by expressions as `$NAME`. */
  also?: Record<string, Requests>
  /** The upstream's word for the job's state; several are joined with `/`. */
  status: Expression | Expression[]
  /** What the words mean. `*` stands for any one word of a joined status, and alone for any at all; the most specific entry wins. */
  states: Record<string, Phase>
  /** Whether the words of `states` are compared without regard to case. */
  caseInsensitive?: boolean
  /** What the client reads about the job. Default: the upstream's word. */
  message?: Expression
  /** A percentage, or `{ done, total }`. */
  progress?: Expression
  /** Where a person can look at the job. */
  url?: Expression
  /** What went wrong, for a failed job. Default: the message. */
  error?: Expression
  /** What the job gave: read off the look, or by one more request after the end. */
  result?: Expression | Requests
  /** Answers of 404, 409 and 410 mean "nothing to cancel": the next look tells. */
  cancel?: Requests
  questions?: QuestionsDefinition
  /** Default: status 404 or 410. */
  gone?: GoneRule
}
