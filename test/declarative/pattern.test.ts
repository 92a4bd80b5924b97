import { describe, expect, it } from 'vitest'
import { compilePattern, LinearRegExp } from '../../src/declarative/pattern.js'

describe('a pattern', () => {
  it('gives the whole match and its groups, undefined for one that took no part', () => {
    expect(compilePattern('/(jobs|runs)/(\\d+)(x)?').match('see /runs/42 now')).toEqual([
      '/runs/42',
      'runs',
      '42',
      undefined,
    ])
    expect(compilePattern('x').match('abc')).toBeUndefined()
  })
  it('counts its groups', () => {
    expect(compilePattern('a(b)(?:c)(d)').groups).toBe(2)
  })
  it.each(['(', '(?=x)y', '(x)\\1', '(?<!a)b', 'a**'])('%s is refused', (source) => {
    expect(() => compilePattern(source)).toThrow()
  })
  it('takes linear time, on texts of megabytes too', () => {
    expect(compilePattern('^(a+)+$').match(`${'a'.repeat(1_000_000)}!`)).toBeUndefined()
    expect(compilePattern('(.*)*x').match('y'.repeat(200_000))).toBeUndefined()
  })
})

describe('the engine of expressions', () => {
  /** All matches, as JSONata goes through them. */
  const all = (
    engine: { exec(text: string): { index: number; [at: number]: string | undefined } | null },
    text: string,
  ) => {
    const found: [number, string | undefined][] = []
    for (let match = engine.exec(text); match && found.length < 100; match = engine.exec(text))
      found.push([match.index, match[0]])
    return found
  }
  const table: [RegExp, string][] = [
    [/a/g, 'banana'],
    [/an(a)?/g, 'banana'],
    [/^a/g, 'aaa'],
    [/^a/gm, 'a\na\nb'],
    [/B/gi, 'abcB'],
    [/\bx\b/g, 'x xx x'],
    [/😀|b/g, 'a😀b😀'],
    [/[^\s]+$/g, 'the end'],
    [/é/g, 'caféé'],
  ]
  it.each(table)('finds what RegExp finds: %s in %j', (pattern, text) => {
    expect(all(new LinearRegExp(pattern), text)).toEqual(all(pattern, text))
  })
  it('begins anew after the last match', () => {
    const engine = new LinearRegExp(/a/g)
    expect([engine.exec('ba')?.index, engine.exec('ba'), engine.exec('ba')?.index]).toEqual([1, null, 1])
  })
})
