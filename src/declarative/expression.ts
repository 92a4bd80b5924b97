import jsonata from 'jsonata'
import { isJsonataFunction, OWN_FUNCTIONS } from './functions.js'
import { type Inspected, inspectSyntax } from './inspect.js'
import { LinearRegExp } from './pattern.js'
import type { Expression, ExpressionVariables } from './types.js'

/** An expression that is ready to run. @throws Error when it fails or exceeds its bounds. */
export type Compiled = (body: unknown, variables: ExpressionVariables) => Promise<unknown>

/** Upstreams choose the data; they must not be able to hold the process up. Milliseconds, nested calls, items. */
const BOUNDS = { timeout: 50, stack: 100, sequence: 100_000 }
/** JSONata's code for the first of these bounds. */
const TIMED_OUT = 'D1012'
/** `*` copies all it has found for each list that it meets, and JSONata's clock does not stop it. */
const MOST_LISTS_OF_WILDCARD = 2_000
/** A value may hold itself many times over, which its text would spell out. Answers have fewer members. */
const MOST_RESULT_MEMBERS = 3_000_000
const LONGEST_RESULT_TEXT = 10_000_000
const LONGEST_QUOTE = 200

/** JSONata throws plain objects. */
function problemOf(error: unknown): string {
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : error
  return String(message)
}

function parse(expression: string): jsonata.Expression {
  try {
    // The engine is asked for `exec` and `lastIndex` only, so it need not be all that a RegExp is.
    const RegexEngine = LinearRegExp as unknown as RegExpConstructor
    return jsonata(expression, { ...BOUNDS, RegexEngine })
  } catch (error) {
    const position = (error as { position?: number }).position
    throw new Error(`${problemOf(error)}${position === undefined ? '' : ` (at character ${position})`}`)
  }
}

/**
 * What an expression refers to.
 * @throws Error as {@link compileExpression} does.
 */
export function inspectExpression(expression: string): Inspected {
  return inspectSyntax(parse(expression).ast())
}

/**
 * Compiles an expression.
 * @throws Error with JSONata's own words and the position, for one that is no JSONata.
 */
export function compileExpression(expression: Expression): Compiled {
  if (typeof expression === 'function') return async (body, variables) => expression(body, variables)
  const parsed = parse(expression)
  const { hasWildcard } = inspectSyntax(parsed.ast())
  for (const [name, [implementation, signature]] of Object.entries(OWN_FUNCTIONS))
    parsed.registerFunction(name, implementation as () => unknown, signature)
  const quoted = JSON.stringify(
    expression.length > LONGEST_QUOTE ? `${expression.slice(0, LONGEST_QUOTE)}...` : expression,
  )
  return async (body, { also, ...variables }) => {
    try {
      if (hasWildcard) checkForWildcard(body)
      return plain(await evaluate(parsed, body, { ...also, ...variables }), { left: MOST_RESULT_MEMBERS })
    } catch (error) {
      throw new Error(`the expression ${quoted} failed: ${problemOf(error)}`)
    }
  }
}

/** A pause of the whole process may use the time up, and an id that was not read is a job that is lost: so, twice. */
async function evaluate(parsed: jsonata.Expression, body: unknown, bindings: Record<string, unknown>) {
  try {
    return await parsed.evaluate(body, bindings)
  } catch (error) {
    if ((error as { code?: unknown }).code !== TIMED_OUT) throw error
    return parsed.evaluate(body, bindings)
  }
}

/** @throws Error for a value that `*` would take too long over. */
function checkForWildcard(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const members = Object.values(value)
  if (members.filter(Array.isArray).length > MOST_LISTS_OF_WILDCARD)
    throw new Error(`an object in the answer has more than ${MOST_LISTS_OF_WILDCARD} lists, which is too many for "*"`)
  members.forEach(checkForWildcard)
}

/** JSONata marks its arrays, and answers functions as objects: plain JSON goes on. */
function plain(value: unknown, budget: { left: number }): unknown {
  if (--budget.left < 0) throw new Error('the value is too large')
  if (Array.isArray(value)) return value.map((item) => plain(item, budget))
  if (typeof value === 'function') return undefined
  if (typeof value === 'string' && value.length > LONGEST_RESULT_TEXT) throw new Error('the text is too long')
  if (typeof value !== 'object' || value === null) return value
  if (isJsonataFunction(value)) return undefined
  const members = Object.entries(value).map(([name, member]) => [name, plain(member, budget)] as const)
  return Object.fromEntries(members.filter(([, member]) => member !== undefined))
}
