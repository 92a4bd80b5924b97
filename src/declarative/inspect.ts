import { OWN_FUNCTIONS } from './functions.js'
import { linearOf } from './pattern.js'

/* What an expression refers to, read off its syntax tree, so that misspelt names surface when a tool is defined. */

/** What an expression refers to. */
export interface Inspected {
  /** Variables that the expression does not make itself, without the `$`. */
  readonly variables: ReadonlySet<string>
  /** Members of the ref that it reads: `$ref.build` is `build`. */
  readonly ref: ReadonlySet<string>
  /** Members of the input that it reads: `$input.a.b` is `['a', 'b']`. */
  readonly input: readonly (readonly string[])[]
  /** True when it has a `*` step, whose cost grows with the square of the data. */
  readonly hasWildcard: boolean
}

type Node = Readonly<Record<string, unknown>>

/**
 * Reads a syntax tree of JSONata.
 * @throws Error for a regular expression in it that the linear engine does not know.
 */
export function inspectSyntax(tree: unknown): Inspected {
  const [used, made, ref] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const input: string[][] = []
  const seen = new Set<unknown>()
  let hasWildcard = false

  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null || seen.has(node)) return
    seen.add(node)
    if (node instanceof RegExp) linearOf(node)
    else if (Array.isArray(node)) node.forEach(visit)
    else read(node as Node)
  }
  const read = (node: Node): void => {
    const { type, value, focus, index } = node
    if (type === 'variable' && typeof value === 'string') used.add(value)
    // `a@$x` and `a#$i` make variables too.
    for (const name of [focus, index]) if (typeof name === 'string') made.add(name)
    if (type === 'bind') made.add(nameOf(node.lhs))
    if (type === 'lambda' && Array.isArray(node.arguments)) for (const item of node.arguments) made.add(nameOf(item))
    if (type === 'path' && Array.isArray(node.steps)) readPath(node.steps)
    if (type === 'wildcard') hasWildcard = true
    Object.values(node).forEach(visit)
  }
  const readPath = ([root, ...steps]: Node[]): void => {
    if (root?.type !== 'variable' || root.predicate !== undefined) return
    const names: string[] = []
    for (const { type, value, stages } of steps) {
      if (type !== 'name' || typeof value !== 'string') break
      names.push(value)
      if (stages !== undefined) break
    }
    const [first] = names
    if (first === undefined) return
    if (root.value === 'ref') ref.add(first)
    if (root.value === 'input') input.push(names)
  }

  visit(tree)
  // `$` is the context, `$$` the whole answer.
  const free = [...used].filter((name) => name !== '' && name !== '$' && !made.has(name) && !FUNCTIONS.has(name))
  return { variables: new Set(free), ref, input, hasWildcard }
}

function nameOf(node: unknown): string {
  return String((node as Node | undefined)?.value)
}

/** All functions that expressions can call, by their names without the `$`. */
export const FUNCTIONS: ReadonlySet<string> = new Set([
  ...Object.keys(OWN_FUNCTIONS),
  ...['sum', 'count', 'max', 'min', 'average', 'string', 'substring', 'substringBefore', 'substringAfter', 'lowercase'],
  ...['uppercase', 'length', 'trim', 'match', 'contains', 'replace', 'split', 'join', 'formatNumber', 'formatBase'],
  ...['formatInteger', 'parseInteger', 'number', 'floor', 'ceil', 'round', 'abs', 'sqrt', 'power', 'random', 'boolean'],
  ...['not', 'map', 'zip', 'filter', 'single', 'reduce', 'sift', 'keys', 'lookup', 'append', 'exists', 'merge'],
  ...['reverse', 'each', 'error', 'assert', 'type', 'shuffle', 'base64encode', 'base64decode', 'encodeUrlComponent'],
  ...['encodeUrl', 'decodeUrlComponent', 'decodeUrl', 'eval', 'toMillis', 'fromMillis', 'clone', 'now', 'millis'],
])
