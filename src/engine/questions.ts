import type { Answer, FormField, FormSchema, Question } from '../define/index.js'
import { AnswerError } from '../errors/index.js'
import type { NumberedQuestion } from '../store/records.js'

/** What a new listing of the upstream's questions means for those asked before. */
export interface QuestionPlan {
  /** Numbers of questions that stay open. */
  open: number[]
  /** Questions to freeze and show for the first time. */
  fresh: Question[]
  /** Numbers of questions that the upstream no longer asks. */
  closed: number[]
  /** Questions that were answered, and that the upstream still shows: not to be shown again. */
  answered: number
}

/**
 * Compares the upstream's present questions with those asked before. Pure.
 *
 * @param staleBefore a claim older than this was left by a process that died while it sent the answer: nobody knows whether it
 *   arrived, so if the upstream still asks, the question is put again under a new key.
 */
export function planQuestions(
  asked: readonly NumberedQuestion[],
  listing: readonly Question[],
  staleBefore: number,
): QuestionPlan {
  const plan: QuestionPlan = { open: [], fresh: [], closed: [], answered: 0 }
  const standing = asked.filter((question) => question.mark?.state !== 'closed')
  const matched = new Set<number>()
  for (const question of listing) {
    // Two questions of one listing may share a key: each takes a standing one of its own.
    const before = standing.find((candidate) => candidate.source === question.key && !matched.has(candidate.n))
    if (!before) {
      plan.fresh.push(question)
      continue
    }
    matched.add(before.n)
    if (!before.mark) {
      plan.open.push(before.n)
    } else if (before.mark.state === 'claimed' && before.mark.at < staleBefore) {
      plan.closed.push(before.n)
      plan.fresh.push(question)
    } else {
      plan.answered++
    }
  }
  for (const question of standing) if (!matched.has(question.n)) plan.closed.push(question.n)
  return plan
}

const RESERVED = new Set(['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty'])

/** A key for the client: the upstream's, made safe, and never one that this task has used before. */
export function taskKey(source: string, used: readonly string[]): string {
  const safe = source.replace(/[^A-Za-z0-9_.-]+/g, '-').slice(0, 64)
  const base = safe === '' || safe === '-' ? 'question' : RESERVED.has(safe) ? `question-${safe}` : safe
  if (!used.includes(base)) return base
  for (let round = 2; ; round++) {
    const key = `${base}-${round}`
    if (!used.includes(key)) return key
  }
}

type Value = string | number | boolean | string[]

function choicesOf(field: FormField): string[] | undefined {
  return field.enum ?? field.oneOf?.map((choice) => choice.const)
}

function itemsOf(field: FormField): string[] | undefined {
  return field.items?.enum ?? field.items?.anyOf?.map((choice) => choice.const)
}

const FORMATS: Record<NonNullable<FormField['format']>, (value: string) => boolean> = {
  email: (value) => /^[^\s@]+@[^\s@]+$/.test(value),
  uri: (value) => URL.canParse(value),
  date: (value) => /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)),
  'date-time': (value) => /^\d{4}-\d{2}-\d{2}T/.test(value) && !Number.isNaN(Date.parse(value)),
}

function stringProblem(field: FormField, value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be text'
  const choices = choicesOf(field)
  if (choices && !choices.includes(value)) return `must be one of ${choices.join(', ')}`
  if (field.minLength !== undefined && value.length < field.minLength)
    return `must have at least ${field.minLength} characters`
  if (field.maxLength !== undefined && value.length > field.maxLength)
    return `must have at most ${field.maxLength} characters`
  if (field.format && !FORMATS[field.format]?.(value)) return `must be a valid ${field.format}`
  return undefined
}

function numberProblem(field: FormField, value: unknown): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number'
  if (field.type === 'integer' && !Number.isInteger(value)) return 'must be a whole number'
  if (field.minimum !== undefined && value < field.minimum) return `must be at least ${field.minimum}`
  if (field.maximum !== undefined && value > field.maximum) return `must be at most ${field.maximum}`
  return undefined
}

function arrayProblem(field: FormField, value: unknown): string | undefined {
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) return 'must be a list of texts'
  const choices = itemsOf(field)
  const stranger = choices && value.find((item) => !choices.includes(item))
  if (choices && stranger !== undefined) return `may only hold ${choices.join(', ')}`
  if (field.minItems !== undefined && value.length < field.minItems)
    return `must have at least ${field.minItems} entries`
  if (field.maxItems !== undefined && value.length > field.maxItems)
    return `must have at most ${field.maxItems} entries`
  return undefined
}

const PROBLEMS: Record<FormField['type'], (field: FormField, value: unknown) => string | undefined> = {
  string: stringProblem,
  number: numberProblem,
  integer: numberProblem,
  boolean: (_field, value) => (typeof value === 'boolean' ? undefined : 'must be true or false'),
  array: arrayProblem,
}

/** True when the person must fill the field in. */
export function isRequired(field: FormField): boolean {
  return field.optional !== true && field.default === undefined
}

/**
 * Checks an elicitation result against the question's form and fills defaults in.
 *
 * @param response what the client sent: `{ action, content? }`.
 * @returns the answer; undefined for `cancel`, which leaves the question open.
 * @throws AnswerError naming the key and the field.
 */
export function readAnswer(
  key: string,
  question: { form?: FormSchema | undefined; url?: string | undefined },
  response: unknown,
): Answer | undefined {
  const wrong = (problem: string): never => {
    throw new AnswerError(`inputResponses.${key}: ${problem}`, true)
  }
  const { action, content = {} } = (typeof response === 'object' && response !== null ? response : {}) as Record<
    string,
    unknown
  >
  if (action === 'cancel') return undefined
  if (action === 'decline') return { action, content: {} }
  if (action !== 'accept') return wrong('action must be "accept", "decline" or "cancel"')
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return wrong('content must be an object')
  return {
    action,
    content: question.url ? {} : readForm(question.form ?? {}, content as Record<string, unknown>, wrong),
  }
}

function readForm(
  form: FormSchema,
  content: Record<string, unknown>,
  wrong: (problem: string) => never,
): Record<string, Value> {
  const values: Record<string, Value> = {}
  // What the form does not have is dropped: its schema, as the client sees it, allows more members.
  for (const [name, field] of Object.entries(form)) {
    const value = Object.hasOwn(content, name) ? content[name] : undefined
    if (value === undefined || value === null) {
      if (isRequired(field)) wrong(`content.${name} is missing`)
      if (field.default !== undefined) values[name] = field.default
      continue
    }
    const problem = PROBLEMS[field.type]?.(field, value)
    if (problem) wrong(`content.${name} ${problem}`)
    values[name] = value as Value
  }
  return values
}
