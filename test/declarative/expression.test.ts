import { describe, expect, it } from 'vitest'
import { compileExpression } from '../../src/declarative/expression.js'
import type { ExpressionVariables } from '../../src/declarative/types.js'

const variables: ExpressionVariables = {
  status: 200,
  headers: { etag: '"a"' },
  ref: { id: '7' },
  input: { scene: 'sea' },
  key: 'k-1',
  also: { jobs: { total: 3 } },
}
const run = (expression: string, body: unknown = {}) => compileExpression(expression)(body, variables)

describe('an expression', () => {
  const table: [string, unknown, unknown][] = [
    ['status', { status: 'done' }, 'done'],
    ['"stage " & stage & ", " & percent & "%"', { stage: 'a', percent: 40 }, 'stage a, 40%'],
    ['jobs[0].id', { jobs: [{ id: 1 }, { id: 2 }] }, 1],
    ['jobs.id', { jobs: [{ id: 1 }, { id: 2 }] }, [1, 2]],
    ['missing.member', {}, undefined],
    ['$status', {}, 200],
    ['$headers.etag', {}, '"a"'],
    ['$ref.id & "/" & $key & "/" & $input.scene', {}, '7/k-1/sea'],
    ['$jobs.total', {}, 3],
    ['$json(text).deep', { text: '{"deep":{"id":9007199254740993}}' }, { id: '9007199254740993' }],
    ['$tail(log, 2)', { log: 'a\nb\nc\nd' }, 'c\nd'],
    ['$pad("x", 3) & "|"', {}, 'x  |'],
    ['$pad("x", -3, "0")', {}, '00x'],
    ['id > 5 and id < 10', { id: 7 }, true],
    ['$match(text, /(\\d+)-(\\d+)/).groups', { text: 'run 12-34' }, ['12', '34']],
    ['$count($match("a1b2c3", /[a-z]\\d/))', {}, 3],
    ['$replace("a-b-c", /-/, "+")', {}, 'a+b+c'],
    ['$replace("john smith", /(\\w+)\\s(\\w+)/, "$2, $1")', {}, 'smith, john'],
    ['$split("a1b22c", /\\d+/)', {}, ['a', 'b', 'c']],
    ['$contains("Hello", /hello/i)', {}, true],
    ['__proto__', {}, undefined],
    ['constructor', {}, undefined],
    ['$lookup($, "__proto__")', {}, undefined],
  ]
  it.each(table)('%s', async (expression, body, value) => {
    expect(await run(expression, body)).toEqual(value)
  })

  it('gives plain JSON: no marked arrays, no functions', async () => {
    const list = await run('jobs.id', { jobs: [{ id: 1 }, { id: 2 }] })
    expect(Object.keys(list as object)).toEqual(['0', '1'])
    expect(await run('{"f": function($x){$x}, "a": 1}')).toEqual({ a: 1 })
  })

  it('may be a function', async () => {
    expect(await compileExpression((body, { key }) => [body, key])('b', variables)).toEqual(['b', 'k-1'])
  })

  it('is refused with its position when it is no JSONata', () => {
    expect(() => compileExpression('a & (')).toThrow(/at character \d+/)
  })
})

describe('a hostile expression or body', () => {
  const bombs: [string, string, unknown][] = [
    ['a catastrophic regular expression', '$match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", /^(a+)+$/)', {}],
    ['one that meets hostile data', '$contains(text, /(x+x+)+y/)', { text: 'x'.repeat(50_000) }],
    ['an endless recursion', '($f := function($n){ $f($n + 1) }; $f(0))', {}],
    ['a deep recursion', '($f := function($n){ 1 + $f($n + 1) }; $f(0))', {}],
    ['a huge sequence', '[1..10000000]', {}],
    ['a product of sequences', '[1..5000].([1..5000])', {}],
    ['a huge pad', '$pad("x", 500000000)', {}],
    ['an empty match without end', '$match("abc", /x*/)', {}],
    ['an expression in the data', '$eval(text)', { text: '($f := function($n){ $f($n + 1) }; $f(0))' }],
  ]
  it.each(bombs)('%s ends soon, with a value or an error', async (_, expression, body) => {
    await Promise.race([
      run(expression, body).catch((error: Error) => expect(error.message).toContain('failed')),
      new Promise((_resolve, reject) => setTimeout(() => reject(new Error('still running')), 15_000)),
    ])
  })
  it('keeps its bounds apart from those of the same expression elsewhere', async () => {
    const same = compileExpression('$sum([1..1000])')
    expect(await Promise.all(Array.from({ length: 20 }, () => same({}, variables)))).toEqual(Array(20).fill(500_500))
  })
})
