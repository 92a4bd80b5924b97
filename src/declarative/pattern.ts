import { RE2JS } from 're2js'

/** A regular expression that takes linear time on any text: patterns meet what hostile upstreams send. */
export interface Pattern {
  /** How many groups the pattern has. */
  readonly groups: number
  /** The first match: the whole, then its groups (undefined for one that took no part); undefined where there is none. */
  match(text: string): (string | undefined)[] | undefined
}

/** @throws Error of the engine for a pattern it does not know: it has no look-around and no back-references. */
export function compilePattern(source: string): Pattern {
  const compiled = RE2JS.compile(source)
  return {
    groups: compiled.groupCount(),
    match: (text) => {
      const matcher = compiled.matcher(text)
      return matcher.find() ? matched(matcher) : undefined
    },
  }
}

function matched(matcher: ReturnType<RE2JS['matcher']>): (string | undefined)[] {
  return Array.from({ length: matcher.groupCount() + 1 }, (_, at) => matcher.group(at) ?? undefined)
}

/** One search is linear; a search from every place of a long text (`/a.*b|c/`) is not. So all searches together have a limit. */
const SEARCHING_MS = 50
// The expression's syntax tree holds one object for each regular expression in it.
const compiledOf = new WeakMap<RegExp, RE2JS>()

/** @throws Error of the engine for a pattern it does not know. */
export function linearOf(pattern: RegExp): RE2JS {
  const known = compiledOf.get(pattern)
  if (known) return known
  let flags = 0
  if (pattern.flags.includes('i')) flags |= RE2JS.CASE_INSENSITIVE
  if (pattern.flags.includes('m')) flags |= RE2JS.MULTILINE
  const compiled = RE2JS.compile(pattern.source, flags)
  compiledOf.set(pattern, compiled)
  return compiled
}

/**
 * What JSONata uses instead of `RegExp`: the members it reads (`lastIndex`, `exec`), over the linear engine. One is made each time
 * an expression comes by its regular expression.
 */
export class LinearRegExp {
  lastIndex = 0
  private readonly compiled: RE2JS
  private readonly until = Date.now() + SEARCHING_MS

  constructor(pattern: RegExp) {
    this.compiled = linearOf(pattern)
  }

  /** As of a global `RegExp`: from `lastIndex`, which then moves behind the match. @throws Error past the time limit. */
  exec(text: string): ((string | undefined)[] & { index: number }) | null {
    if (Date.now() > this.until) throw new Error(`a regular expression searched for more than ${SEARCHING_MS} ms`)
    const matcher = this.compiled.matcher(text)
    if (!matcher.find(this.lastIndex)) {
      this.lastIndex = 0
      return null
    }
    this.lastIndex = matcher.end()
    return Object.assign(matched(matcher), { index: matcher.start() })
  }
}
