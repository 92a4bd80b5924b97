import type { HttpClient } from '../http/types.js'

/** What an adapter says of a job. `gone`: the upstream does not know the job. `unknown`: a word nobody has mapped. */
export type Phase = 'working' | 'input_required' | 'succeeded' | 'failed' | 'cancelled' | 'gone' | 'unknown'

/** The strings and numbers that find a job again. It is stored: no secret may be in it. */
export type RefShape<Ref> = { [Member in keyof Ref]: string | number | undefined }

/** One field of a form, as MCP elicitation allows it: text, number, yes/no, one of, or several of. */
export interface FormField {
  type: 'string' | 'number' | 'integer' | 'boolean' | 'array'
  title?: string
  description?: string
  /** `string` only. */
  enum?: string[]
  /** Labels for `enum`, in its order. */
  enumNames?: string[]
  oneOf?: { const: string; title: string }[]
  format?: 'email' | 'uri' | 'date' | 'date-time'
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  /** `array` only: the choices. */
  items?: { type?: 'string'; enum?: string[]; anyOf?: { const: string; title: string }[] }
  minItems?: number
  maxItems?: number
  default?: string | number | boolean | string[]
  /** Not sent to the client: true when the field may stay empty. A field with a default may too. */
  optional?: boolean
}

/** The fields of a form, by name. */
export type FormSchema = Record<string, FormField>

/** Something that a person must decide before the job goes on. */
export interface Question {
  /** The upstream's own key for it. It may come back in a later round: the engine keeps task keys unique. */
  key: string
  message: string
  /** The fields to fill in. None means: accept or decline. */
  form?: FormSchema
  /** A page where the person must act instead of a form. */
  url?: string
}

/** What the person decided. */
export interface Answer {
  action: 'accept' | 'decline'
  content: Record<string, string | number | boolean | string[]>
}

/** An adapter's translation of one upstream answer. */
export interface Reading<Ref> {
  phase: Phase
  /** Shown to the client. With `unknown`, the upstream's word. */
  message?: string
  /** `{ done: 40 }` is a percentage; with `total` it is "done of total". */
  progress?: { done: number; total?: number }
  /** Where a person can look at the job. */
  url?: string
  /** Replaces the stored ref, for example once a queue item has become a build. */
  ref?: Ref
  /** With `input_required`. */
  questions?: Question[]
  /** When the next look makes sense, in milliseconds. A hint: it is clamped by the tool's policy. */
  pollIntervalMs?: number
}

/** A block of a tool result, as MCP defines it. */
export type ContentBlock = { type: string; [member: string]: unknown }

/** What a job gave. */
export interface JobResult {
  text?: string
  /** Becomes `structuredContent`. */
  structured?: unknown
  content?: ContentBlock[]
  isError?: boolean
}

/** Who calls: the `authInfo` that the host validated. The same shape as the SDK's. */
export interface CallerAuth {
  readonly token?: string
  readonly clientId?: string
  readonly scopes?: readonly string[]
  readonly extra?: Readonly<Record<string, unknown>>
}

/** What every operation of an adapter is given. */
export interface OperationContext {
  /** The idempotency key of the job: the same for every operation, known before the job exists. */
  readonly key: string
  readonly http: HttpClient
  /** Aborted when the operation's own time limit passes, never because a client went away. */
  readonly signal: AbortSignal
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Given to `create` and `locate`. */
export interface CreateContext extends OperationContext {
  /** The caller's subject, if it has one. */
  readonly owner: string | undefined
  /** Absent when a crashed create is looked for later. */
  readonly authInfo: CallerAuth | undefined
  /** The answers to the tool's `ask` questions, by their keys. */
  readonly answers: Readonly<Record<string, Answer>>
}

/** Given to the operations on a job that exists. */
export interface JobContext<Input = unknown> extends OperationContext {
  /** The input of the call that made the job. */
  readonly input: Input
  /** When the job was asked for, in milliseconds since the epoch. */
  readonly createdAt: number
  /** True once the client has asked to cancel. */
  readonly cancelRequested: boolean
}

/** Given to `read`. */
export interface ReadContext<Ref, Input = unknown> {
  readonly ref: Ref
  readonly key: string
  readonly input: Input
  readonly createdAt: number
  readonly now: number
  /** True once the client has asked to cancel: some upstreams report a cancelled job as failed. */
  readonly cancelRequested: boolean
}

/**
 * The whole seam between the engine and an upstream: a plain object. An adapter knows the upstream's words and URLs and
 * nothing of MCP, time limits or stores. Failures are thrown, `UpstreamError` by the `http` client by itself.
 */
export interface JobAdapter<Input, Ref, Job> {
  /** Starts the job. Sent once, never repeated. */
  readonly create: (input: Input, ctx: CreateContext) => Promise<Ref>
  /** Reads the job. */
  readonly get: (ref: Ref, ctx: JobContext<Input>) => Promise<Job>
  /** Translates what `get` read. Pure. */
  readonly read: (job: Job, ctx: ReadContext<Ref, Input>) => Reading<Ref>
  /** Asks the upstream to stop the job. Without it a cancel is recorded and said to be impossible. */
  readonly cancel?: ((ref: Ref, ctx: JobContext<Input>) => Promise<void>) | undefined
  /** Hands a person's decision to the upstream. May answer the ref of a new job. Throws `UnsupportedError` where the upstream has no such operation. */
  readonly answer?:
    | ((ref: Ref, question: Question, answer: Answer, ctx: JobContext<Input>) => Promise<Ref | void>)
    | undefined
  /** Reads what the job gave: once, after the first succeeded or failed reading. */
  readonly result?: ((ref: Ref, job: Job, ctx: JobContext<Input>) => Promise<JobResult>) | undefined
  /** Finds the job after a create whose outcome is unknown. `undefined` means that it cannot tell. */
  readonly locate?: ((input: Input, ctx: CreateContext) => Promise<Ref | undefined>) | undefined
}

/**
 * An adapter may carry a check of itself against the tool it is used in, under this symbol. `defineJobTool` runs it, so that
 * mistakes surface when the tool is defined.
 */
export const CHECK = Symbol.for('mcp-job-tools.check')

/** What {@link CHECK} is given. */
export interface ToolFacts {
  readonly tool: string
  /** The input's JSON Schema, where the schema library can give one. */
  readonly inputSchema: Readonly<Record<string, unknown>> | undefined
  readonly asks: boolean
}

/** An adapter with a check. @throws DefinitionError from the check. */
export interface Checked {
  readonly [CHECK]?: (facts: ToolFacts) => void
}
