import jsonata from 'jsonata'
import { parseJson, tailLines } from '../http/index.js'
import { LinearRegExp } from './pattern.js'
import type { Expression, ExpressionVariables } from './types.js'

/** An expression that is ready to run. @throws Error when it fails or exceeds its bounds. */
export type Compiled = (body: unknown, variables: ExpressionVariables) => Promise<unknown>

/** Upstreams choose the data and operators the expression; neither may hold the process up. */
const BOUNDS = { timeout: 50, stack: 100, sequence: 100_000 }
/** `$pad` allocates its width at once, and a huge one ends the process. */
const WIDEST_PAD = 10_000
const MOST_TAIL_BYTES = 100_000

/** The names that expressions may not give to further reads. */
export const OWN_VARIABLES: ReadonlySet<string> = new Set([
  'status',
  'headers',
  'ref',
  'input',
  'key',
  'json',
  'tail',
  'pad',
])

function pad(text: unknown, width: unknown, filling: unknown): unknown {
  if (typeof text !== 'string') return undefined
  const size = Math.trunc(Number(width))
  if (!Number.isFinite(size) || Math.abs(size) > WIDEST_PAD)
    throw new Error(`$pad: the width must lie within ${WIDEST_PAD}`)
  const fill = typeof filling === 'string' && filling !== '' ? filling : ' '
  return size < 0 ? text.padStart(-size, fill) : text.padEnd(size, fill)
}

function tail(text: unknown, lines: unknown): unknown {
  if (typeof text !== 'string') return undefined
  return tailLines(text, {
    lines: typeof lines === 'number' && lines > 0 ? Math.trunc(lines) : 200,
    bytes: MOST_TAIL_BYTES,
  }).text
}

function json(text: unknown): unknown {
  return typeof text === 'string' ? parseJson(text) : undefined
}

/** JSONata marks its arrays, and answers functions as functions: plain JSON goes on. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'function') return undefined
  // JSONata's own functions are objects, with their whole surroundings in them.
  if (typeof value === 'object' && value !== null && ('_jsonata_lambda' in value || '_jsonata_function' in value))
    return undefined
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, plain(member)] as const)
  return Object.fromEntries(members.filter(([, member]) => member !== undefined))
}

/** JSONata writes its errors as plain objects. */
function problemOf(error: unknown): string {
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : error
  return String(message)
}

/**
 * Compiles an expression.
 * @throws Error with JSONata's own words and the position, for one that is no JSONata.
 */
export function compileExpression(expression: Expression): Compiled {
  if (typeof expression === 'function') return async (body, variables) => expression(body, variables)
  let compiled: ReturnType<typeof jsonata>
  try {
    compiled = jsonata(expression, { ...BOUNDS, RegexEngine: LinearRegExp as unknown as RegExpConstructor })
  } catch (error) {
    const position = (error as { position?: number }).position
    throw new Error(`${problemOf(error)}${position === undefined ? '' : ` (at character ${position})`}`)
  }
  compiled.registerFunction('pad', pad, '<s-ns?:s>')
  compiled.registerFunction('json', json, '<s-:x>')
  compiled.registerFunction('tail', tail, '<s-n?:s>')
  return async (body, { also, ...variables }) => {
    try {
      return plain(await compiled.evaluate(body, { ...also, ...variables }))
    } catch (error) {
      throw new Error(`the expression ${JSON.stringify(expression)} failed: ${problemOf(error)}`)
    }
  }
}
