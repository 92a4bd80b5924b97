import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { inspectExpression } from '../../src/declarative/expression.js'
import { FUNCTIONS } from '../../src/declarative/inspect.js'

describe('what an expression refers to', () => {
  const variables: [string, string[]][] = [
    ['a.b', []],
    ['$stats.done', ['stats']],
    ['$ & $$.a', []],
    ['$count(a) & $uper(b)', ['uper']],
    ['($n := 1; $n + $m)', ['m']],
    ['$map(a, function($v, $i) { $v & $i & $w })', ['w']],
    ['a@$x.b#$i[$x.id = $i]', []],
    ['a ~> $sum ~> $nope', ['nope']],
    ['|a|{"b": $c}|', ['c']],
    ['a[$d = 1]^($e)', ['d', 'e']],
    ['{ $f: $g }', ['f', 'g']],
    ['$json(a) & $tail(b) & $now()', []],
  ]
  it.each(variables)('%s reads the variables %j', (expression, names) => {
    expect([...inspectExpression(expression).variables].sort()).toEqual(names)
  })

  const refs: [string, string[]][] = [
    ['$ref.build', ['build']],
    ['$not($exists($ref.build)) and $ref.queue.x', ['build', 'queue']],
    ['$ref."a-b"', ['a-b']],
    ['$ref', []],
    ['$lookup($ref, "x")', []],
    ['ref.x', []],
    ['$ref[x = 1].y', []],
  ]
  it.each(refs)('%s reads of the ref %j', (expression, names) => {
    expect([...inspectExpression(expression).ref]).toEqual(names)
  })

  it('tells paths into the input, as far as they are certain', () => {
    expect(inspectExpression('$input.a.b & $input.c[0].d & $input.*').input).toEqual([['a', 'b'], ['c']])
  })
  it('tells whether there is a star', () => {
    expect(inspectExpression('a.*.b').hasWildcard).toBe(true)
    expect(inspectExpression('a * b').hasWildcard).toBe(false)
  })
  it('knows each function of JSONata by its name', () => {
    const source = readFileSync(createRequire(import.meta.url).resolve('jsonata'), 'utf8')
    const bound = [...source.matchAll(/(?:staticFrame|environment)\.bind\('(\w+)'/g)].map((match) => match[1])
    expect(bound.length).toBeGreaterThan(60)
    expect([...FUNCTIONS].sort()).toEqual([...new Set([...bound, 'json', 'tail'])].sort())
  })
})
