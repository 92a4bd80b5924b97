import { DefinitionError } from '../errors/index.js'
import { type Answer, CHECK, type Checked, type JobAdapter, type Question, type RefShape } from './adapter.js'
import { checkPolicy, POLICY_NAMES, type PolicyOptions } from './policy.js'
import { jsonSchemaOf, type Parsed, type StandardSchema } from './schema.js'

/** Hints about a tool for the client, as MCP defines them. */
export interface ToolAnnotations {
  title?: string
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
  openWorldHint?: boolean
}

/** What `defineJobTool` takes: the tool, the job behind it, and its policy. */
export interface JobToolDefinition<Input extends StandardSchema, Output extends StandardSchema | undefined, Ref, Job>
  extends PolicyOptions {
  /** The tool's name: 1 to 128 letters, digits, `_`, `-`, `.` or `/`. */
  name: string
  title?: string
  description?: string
  /** Any Standard Schema that gives a JSON Schema, such as a Zod 4 object. */
  input: Input
  /** The shape of `structuredContent`. Listed as `outputSchema` to clients that declare tasks. */
  output?: Output
  /** The adapter: a built-in one, or your own object. */
  job: JobAdapter<Parsed<Input>, Ref, Job>
  /** Questions to put to a person before the job exists. Answers reach `create` as `ctx.answers[key]`. */
  ask?: (input: Parsed<Input>) => Question[] | undefined | Promise<Question[] | undefined>
  annotations?: ToolAnnotations
  _meta?: Record<string, unknown>
}

/** An adapter with its types forgotten, as the engine holds it. */
export type AnyJobAdapter = JobAdapter<unknown, Record<string, string | number | undefined>, unknown> & Checked

/** A defined tool. Made by {@link defineJobTool}, used by `createJobTools`. */
export interface JobTool {
  readonly name: string
  readonly title: string | undefined
  readonly description: string | undefined
  readonly input: StandardSchema
  readonly output: StandardSchema | undefined
  readonly job: AnyJobAdapter
  readonly ask: ((input: unknown) => Question[] | undefined | Promise<Question[] | undefined>) | undefined
  readonly annotations: ToolAnnotations | undefined
  readonly meta: Record<string, unknown> | undefined
  readonly policy: PolicyOptions
}

/** The answers of `ask` questions, by their keys. */
export type Answers = Readonly<Record<string, Answer>>

const NAME = /^[A-Za-z0-9_./-]{1,128}$/
const OWN_MEMBERS = new Set(['name', 'title', 'description', 'input', 'output', 'job', 'ask', 'annotations', '_meta'])

function refuse(tool: string | undefined, field: string, problem: string, remedy: string): never {
  throw new DefinitionError({ tool, field, problem, remedy })
}

function checkShape(definition: Record<string, unknown>): void {
  const { name } = definition
  if (typeof name !== 'string' || !NAME.test(name)) {
    refuse(
      undefined,
      'name',
      `${JSON.stringify(name)} is no tool name`,
      'Use 1 to 128 letters, digits, "_", "-", "." or "/".',
    )
  }
  for (const member of Object.keys(definition)) {
    if (OWN_MEMBERS.has(member) || POLICY_NAMES.has(member)) continue
    refuse(name, member, 'is no option of a job tool', 'Check its spelling against the options table in the README.')
  }
  for (const field of ['input', 'output'] as const) {
    const schema = definition[field]
    if (field === 'output' && schema === undefined) continue
    const standard = (schema as StandardSchema | undefined)?.['~standard']
    if (typeof standard?.validate !== 'function') {
      refuse(name, field, 'is no Standard Schema', 'Give a schema such as z.object({ ... }) of Zod 4.')
    }
  }
  const job = definition.job as Record<string, unknown> | undefined
  for (const member of ['create', 'get', 'read']) {
    if (typeof job?.[member] !== 'function') {
      refuse(name, `job.${member}`, 'is missing', 'An adapter needs the functions create, get and read.')
    }
  }
  for (const member of ['cancel', 'answer', 'result', 'locate']) {
    if (job?.[member] !== undefined && typeof job[member] !== 'function') {
      refuse(name, `job.${member}`, 'is not a function', 'Leave it out, or give a function.')
    }
  }
  if (definition.ask !== undefined && typeof definition.ask !== 'function') {
    refuse(name, 'ask', 'is not a function', 'Give (input) => Question[] | undefined.')
  }
}

/**
 * Defines one tool over one kind of job.
 *
 * @returns the tool, for `createJobTools({ tools: [...] })`.
 * @throws DefinitionError naming the tool, the member and the remedy, for everything that can be known to be wrong now.
 */
export function defineJobTool<
  Input extends StandardSchema,
  Output extends StandardSchema | undefined,
  Ref extends RefShape<Ref>,
  Job,
>(definition: JobToolDefinition<Input, Output, Ref, Job>): JobTool {
  checkShape(definition as unknown as Record<string, unknown>)
  const { name, title, description, input, output, job, ask, annotations, _meta, ...policy } = definition
  checkPolicy(name, policy)
  ;(job as Checked)[CHECK]?.({ tool: name, inputSchema: jsonSchemaOf(input), asks: ask !== undefined })
  return Object.freeze({
    name,
    title,
    description,
    input,
    output,
    // The one place where the author's types are forgotten: the engine hands back only what this adapter gave it.
    job: job as unknown as AnyJobAdapter,
    ask: ask as JobTool['ask'],
    annotations,
    meta: _meta,
    policy,
  })
}
