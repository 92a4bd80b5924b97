import { RE2JS } from 're2js'

/** A regular expression that takes linear time on any text: patterns meet what hostile upstreams send. */
export interface Pattern {
  readonly groups: number
  /** The first match: the whole and its groups; undefined where there is none. */
  match(text: string): (string | undefined)[] | undefined
}

/** @throws Error of the engine for a pattern it does not know. */
export function compilePattern(source: string, flags = 0): Pattern {
  const compiled = RE2JS.compile(source, flags)
  return {
    groups: compiled.groupCount(),
    match: (text) => {
      const matcher = compiled.matcher(text)
      if (!matcher.find()) return undefined
      return Array.from({ length: compiled.groupCount() + 1 }, (_, at) => matcher.group(at) ?? undefined)
    },
  }
}

/**
 * What JSONata uses instead of `RegExp`: the members it reads (`lastIndex`, `exec`, `source`), over the linear engine.
 */
export class LinearRegExp {
  lastIndex = 0
  readonly source: string
  private readonly compiled: RE2JS

  constructor(pattern: RegExp | string, flags = '') {
    this.source = typeof pattern === 'string' ? pattern : pattern.source
    const given = typeof pattern === 'string' ? flags : pattern.flags
    let bits = 0
    if (given.includes('i')) bits |= RE2JS.CASE_INSENSITIVE
    if (given.includes('m')) bits |= RE2JS.MULTILINE
    if (given.includes('s')) bits |= RE2JS.DOTALL
    this.compiled = RE2JS.compile(this.source, bits)
  }

  /** As of a global `RegExp`: from `lastIndex`, which then moves behind the match. */
  exec(text: string): (string[] & { index: number }) | null {
    const matcher = this.compiled.matcher(text)
    if (!matcher.find(this.lastIndex)) {
      this.lastIndex = 0
      return null
    }
    this.lastIndex = matcher.end()
    const groups = Array.from({ length: this.compiled.groupCount() + 1 }, (_, at) => matcher.group(at) as string)
    return Object.assign(groups, { index: matcher.start() })
  }
}
