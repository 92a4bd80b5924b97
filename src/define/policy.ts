import { DefinitionError } from '../errors/index.js'

/** What a call by a client without tasks gets: a bounded wait, the handle at once, or a refusal. */
export type WithoutTasks = 'wait' | 'handle' | 'reject'

/** Time limits of one adapter operation each, in milliseconds. */
export interface Timeouts {
  create: number
  get: number
  cancel: number
  answer: number
  result: number
}

/** The policy of a tool. Times are in milliseconds. */
export interface Policy {
  /** How long a client should wait between looks when nothing says otherwise. Default 5,000. */
  pollIntervalMs: number
  /** The shortest wait ever asked for. Default 1,000. */
  minPollIntervalMs: number
  /** The longest wait ever asked for. Default 300,000. */
  maxPollIntervalMs: number
  /** The job's deadline, from its creation; null for none. Default 24 hours. */
  maxDurationMs: number | null
  /** Whether the upstream job is cancelled when the deadline passes. Default true. */
  cancelOnDeadline: boolean
  /** How long an outcome stays readable. Default 24 hours. */
  retentionMs: number
  /** How long after its creation "not found" means "not visible yet". Default 120,000. */
  notFoundGraceMs: number
  /** How long the upstream may stay unreachable before the task fails. Default 1 hour. */
  unreachableMs: number
  /** How long a state that nobody has mapped may last before the task fails. Default 1 hour. */
  unknownStateMs: number
  timeouts: Timeouts
  /** What a call by a client without tasks gets. Default `wait`. */
  withoutTasks: WithoutTasks
  /** The bound of that wait. Default 25,000; at most 55,000, since hosts give up at 60 seconds. */
  waitMs: number
  /** How long a call waits for a short job to end, to answer plainly instead of with a task. Default 0. */
  immediateMs: number
  /** Cap on a result's text, in bytes of UTF-8. Default 100,000. */
  maxResultBytes: number
}

/** Policy as an author writes it: any subset. */
export type PolicyOptions = { [Member in keyof Omit<Policy, 'timeouts'>]?: Policy[Member] | undefined } & {
  timeouts?: Partial<Timeouts> | undefined
}

/** The defaults of every option. */
export const DEFAULT_POLICY: Policy = Object.freeze({
  pollIntervalMs: 5_000,
  minPollIntervalMs: 1_000,
  maxPollIntervalMs: 300_000,
  maxDurationMs: 86_400_000,
  cancelOnDeadline: true,
  retentionMs: 86_400_000,
  notFoundGraceMs: 120_000,
  unreachableMs: 3_600_000,
  unknownStateMs: 3_600_000,
  timeouts: Object.freeze({ create: 30_000, get: 10_000, cancel: 10_000, answer: 15_000, result: 30_000 }),
  withoutTasks: 'wait',
  waitMs: 25_000,
  immediateMs: 0,
  maxResultBytes: 100_000,
})

/** Hosts cut a call at about 60 seconds, whatever the server does. */
const LONGEST_WAIT_MS = 55_000
/** The largest delay a 32-bit timer can hold; also keeps `pollIntervalMs` an int on the wire. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

type Rule = { min: number; max: number; why: string; nullable?: boolean }

const timer: Rule = {
  min: 1,
  max: LONGEST_TIMER_MS,
  why: `a whole number of milliseconds from 1 to ${LONGEST_TIMER_MS}`,
}
const span: Rule = { min: 0, max: Number.MAX_SAFE_INTEGER, why: 'a whole number of milliseconds, 0 or more' }
const wait: Rule = {
  min: 0,
  max: LONGEST_WAIT_MS,
  why: `a whole number of milliseconds from 0 to ${LONGEST_WAIT_MS}: most hosts give up a call after 60 seconds`,
}

const RULES: Record<string, Rule> = {
  pollIntervalMs: timer,
  minPollIntervalMs: timer,
  maxPollIntervalMs: timer,
  maxDurationMs: {
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    why: 'a whole number of milliseconds above 0, or null for no deadline',
    nullable: true,
  },
  retentionMs: { ...span, min: 1, why: 'a whole number of milliseconds above 0' },
  notFoundGraceMs: span,
  unreachableMs: span,
  unknownStateMs: span,
  waitMs: wait,
  immediateMs: wait,
  maxResultBytes: { min: 100, max: 10_000_000, why: 'a whole number of bytes from 100 to 10,000,000' },
}

const OTHERS = new Set(['cancelOnDeadline', 'timeouts', 'withoutTasks'])
const TIMEOUT_NAMES = Object.keys(DEFAULT_POLICY.timeouts) as (keyof Timeouts)[]

/** The names of all policy options. */
export const POLICY_NAMES: ReadonlySet<string> = new Set([...Object.keys(RULES), ...OTHERS])

function checkNumber(tool: string | undefined, field: string, value: unknown, rule: Rule): void {
  if (value === null && rule.nullable) return
  const fits = typeof value === 'number' && Number.isInteger(value) && value >= rule.min && value <= rule.max
  if (fits) return
  throw new DefinitionError({ tool, field, problem: `${String(value)} is not allowed`, remedy: `Give ${rule.why}.` })
}

/**
 * Checks policy options as an author wrote them.
 * @throws DefinitionError naming the tool, the option and what to write instead.
 */
export function checkPolicy(tool: string | undefined, options: PolicyOptions): void {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  for (const [field, value] of given) {
    const rule = Object.hasOwn(RULES, field) ? RULES[field] : undefined
    if (rule) checkNumber(tool, field, value, rule)
  }
  for (const [name, value] of Object.entries(options.timeouts ?? {})) {
    if (!TIMEOUT_NAMES.includes(name as keyof Timeouts)) {
      throw new DefinitionError({
        tool,
        field: `timeouts.${name}`,
        problem: 'is no time limit',
        remedy: `The limits are ${TIMEOUT_NAMES.join(', ')}.`,
      })
    }
    if (value !== undefined) checkNumber(tool, `timeouts.${name}`, value, timer)
  }
  if (options.withoutTasks !== undefined && !['wait', 'handle', 'reject'].includes(options.withoutTasks)) {
    throw new DefinitionError({
      tool,
      field: 'withoutTasks',
      problem: `"${String(options.withoutTasks)}" is not allowed`,
      remedy: 'Write "wait", "handle" or "reject".',
    })
  }
}

function given<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>
}

/**
 * Lays a tool's options over the defaults of its set, and those over the library's.
 * @throws DefinitionError when the three together contradict each other.
 */
export function resolvePolicy(tool: string, own: PolicyOptions, defaults: PolicyOptions = {}): Policy {
  const layers = [defaults, own].map((options) => given(options))
  const timeouts = Object.assign({}, DEFAULT_POLICY.timeouts, ...layers.map((layer) => given(layer.timeouts ?? {})))
  const policy: Policy = Object.assign({}, DEFAULT_POLICY, ...layers, { timeouts })
  if (policy.minPollIntervalMs > policy.maxPollIntervalMs) {
    throw new DefinitionError({
      tool,
      field: 'minPollIntervalMs',
      problem: `${policy.minPollIntervalMs} is above maxPollIntervalMs (${policy.maxPollIntervalMs})`,
      remedy: 'Lower the one or raise the other.',
    })
  }
  return policy
}
