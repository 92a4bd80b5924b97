import { LONGEST_TIMER_MS, type Phase } from '../define/index.js'
import { DefinitionError } from '../errors/index.js'
import { checkBaseUrl } from '../http/index.js'
import { inspectExpression } from './expression.js'
import type { Inspected } from './inspect.js'
import { compilePattern } from './pattern.js'
import { listOf } from './request.js'
import { isPlain, type Placeholder, placeholdersIn, ROOTS } from './template.js'

/* Checks of the parts that definitions are made of. Each throws DefinitionError naming the member and the remedy. */

const PHASES: readonly Phase[] = ['working', 'input_required', 'succeeded', 'failed', 'cancelled', 'gone', 'unknown']
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** What a question's placeholders may name. */
const QUESTION_MEMBERS = ['key', 'number', 'message', 'url']

/** @throws DefinitionError */
export function refuse(field: string, problem: string, remedy: string): never {
  throw new DefinitionError({ field: field === '' ? 'job' : `job.${field}`, problem, remedy })
}

/** `{ref.id}`, as it is written. */
export const written = (placeholder: Placeholder): string => `{${placeholder.join('.')}}`

export function checkMembers(
  field: string,
  value: unknown,
  known: readonly string[],
): asserts value is Record<string, unknown> {
  if (!isPlain(value)) refuse(field, 'is no object', 'See the manual at the top of adapters/http.ts.')
  for (const member of Object.keys(value)) {
    const whole = field === '' ? member : `${field}.${member}`
    if (!known.includes(member)) refuse(whole, 'has no meaning here', `Members here are ${known.join(', ')}.`)
  }
}

/** @returns what the expression refers to; undefined for a function. */
export function checkExpression(field: string, expression: unknown): Inspected | undefined {
  if (typeof expression === 'function') return undefined
  if (typeof expression !== 'string' || expression.trim() === '')
    refuse(field, 'is neither an expression nor a function', 'Write a JSONata expression, such as "status".')
  try {
    return inspectExpression(expression)
  } catch (error) {
    refuse(
      field,
      `${JSON.stringify(expression)} is no expression: ${error instanceof Error ? error.message : String(error)}`,
      'See jsonata.org for expressions; regular expressions are those of RE2, without look-around.',
    )
  }
}

/** @returns how many groups the pattern has. */
export function checkPattern(field: string, pattern: unknown): number {
  if (typeof pattern !== 'string') refuse(field, 'is no text', 'Write a regular expression as a text.')
  try {
    return compilePattern(pattern).groups
  } catch (error) {
    refuse(
      field,
      `is no regular expression: ${error instanceof Error ? error.message : String(error)}`,
      'Patterns are RE2: no look-around, no back-references.',
    )
  }
}

/** A base URL: only the operator's environment may have a part in it. */
export function checkBase(field: string, baseUrl: unknown): void {
  if (typeof baseUrl !== 'string') refuse(field, 'is no text', 'Write it like "https://farm.example/api".')
  const placeholders = placeholdersIn(baseUrl)
  const other = placeholders.find(([root]) => root !== 'env')
  if (other)
    refuse(
      field,
      `holds ${written(other)}, but only {env.NAME} may decide where requests go`,
      'Move it to the path or the query.',
    )
  checkPlaceholders(field, baseUrl, ['env'])
  if (placeholders.length === 0) checkBaseUrl(baseUrl, `job.${field}`)
}

export function checkHeaders(field: string, headers: unknown, roots: readonly string[]): void {
  if (!isPlain(headers)) refuse(field, 'is no object', 'Give header values by name.')
  for (const [name, value] of Object.entries(headers)) {
    const whole = `${field}.${name}`
    if (!HEADER_NAME.test(name)) refuse(whole, 'is no header name', 'Use letters, digits and dashes.')
    if (value !== undefined && typeof value !== 'string' && typeof value !== 'function')
      refuse(whole, 'is neither text nor a function', 'Give a text, or a function that returns one.')
    if (typeof value !== 'string') continue
    checkPlaceholders(whole, value, roots)
    if (/[\r\n\0]/.test(value)) refuse(whole, 'is more than one line', 'A header is one line of text.')
  }
}

export function checkTimeouts(timeouts: unknown): void {
  checkMembers('timeouts', timeouts, ['create', 'get', 'cancel', 'answer', 'result'])
  for (const [name, value] of Object.entries(timeouts)) {
    const isTime = Number.isInteger(value) && (value as number) > 0 && (value as number) <= LONGEST_TIMER_MS
    if (value !== undefined && !isTime)
      refuse(`timeouts.${name}`, `${String(value)} is not allowed`, 'Give a whole number of milliseconds above 0.')
  }
}

/** Placeholders anywhere in a value; names of members are not filled in, so none may stand there. */
export function checkPlaceholders(field: string, value: unknown, roots: readonly string[]): void {
  const name = namesIn(value).find((member) => placeholdersIn(member).length > 0)
  if (name !== undefined)
    refuse(field, `has a member named "${name}"`, 'Names are taken as they are: only values are filled in.')
  for (const placeholder of placeholdersIn(value)) {
    const [root, ...members] = placeholder
    const text = written(placeholder)
    if (!(ROOTS as readonly string[]).includes(root))
      refuse(
        field,
        `holds ${text}, whose root "${root}" is unknown`,
        `Roots are ${ROOTS.join(', ')}; write {${text}} for literal braces.`,
      )
    if (!roots.includes(root))
      refuse(field, `holds ${text}, and there is no "${root}" at this place`, `Here you can use ${roots.join(', ')}.`)
    if (members.includes('')) refuse(field, `holds ${text}`, 'Names stand between the dots.')
    if (root === 'env' && members.length !== 1) refuse(field, `holds ${text}`, 'Write {env.NAME}.')
    if (root === 'ask' && members.length !== 2) refuse(field, `holds ${text}`, 'Write {ask.KEY.FIELD}.')
    if (root === 'key' && members.length > 0) refuse(field, `holds ${text}`, 'The key is a text: write {key}.')
    const [member] = members
    if (root === 'question' && (members.length !== 1 || !QUESTION_MEMBERS.includes(String(member))))
      refuse(field, `holds ${text}`, `A question has ${QUESTION_MEMBERS.join(', ')}.`)
  }
}

function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn)
  return isPlain(value) ? Object.entries(value).flatMap(([name, member]) => [name, ...namesIn(member)]) : []
}

export function checkStates(field: string, states: unknown, caseInsensitive: boolean): void {
  if (!isPlain(states) || Object.keys(states).length === 0)
    refuse(field, 'is empty', 'List the words of the upstream, each with its phase.')
  const words = new Map<string, string>()
  for (const [word, phase] of Object.entries(states)) {
    if (!PHASES.includes(phase as Phase))
      refuse(`${field}.${word}`, `"${String(phase)}" is no phase`, `Phases are ${PHASES.slice(0, 5).join(', ')}.`)
    const folded = caseInsensitive ? word.toLowerCase() : word
    const twin = words.get(folded)
    if (twin !== undefined && states[twin] !== phase)
      refuse(`${field}.${word}`, `is the same word as "${twin}", with another phase`, 'Keep one of the two.')
    words.set(folded, word)
  }
}

/** One status or several: which makes a difference. */
export function checkStatuses(field: string, status: unknown): Inspected[] {
  if (Array.isArray(status) && status.length === 0) refuse(field, 'is an empty list', 'Give at least one expression.')
  return listOf(status).flatMap((expression, at) => {
    const whole = Array.isArray(status) ? `${field}[${at}]` : field
    return checkExpression(whole, expression) ?? []
  })
}

export function isHttpStatus(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 100 && (value as number) < 600
}
