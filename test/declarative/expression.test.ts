import { describe, expect, it } from 'vitest'
import { compileExpression } from '../../src/declarative/expression.js'
import type { ExpressionVariables } from '../../src/declarative/types.js'

const variables: ExpressionVariables = {
  status: 200,
  headers: { etag: '"a"' },
  ref: { id: '7' },
  input: { scene: 'sea' },
  key: 'k-1',
  cancelRequested: false,
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
    ['$contains("a\nb", /^b/m)', {}, true],
    ['$replace("ac", /(a)|(b)/, "[$1$2]")', {}, '[a]c'],
    ['$match("x😀abc😀abc", /abc/).index', {}, [3, 8]],
    ['$cancelRequested', {}, false],
    ['$tail(log)', { log: 'a\nb' }, 'a\nb'],
    ['$tail(log, 1)', {}, undefined],
    ['log ~> $tail(1)', { log: 'a\nb' }, 'b'],
    ['$json(text)', {}, undefined],
    ['$pad(text, 3)', {}, undefined],
    ['$sort([3, 1, 2])', {}, [1, 2, 3]],
    ['$sort(jobs, function($l, $r) { $l.n < $r.n }).n', { jobs: [{ n: 1 }, { n: 3 }, { n: 2 }] }, [3, 2, 1]],
    ['$distinct(jobs.state)', { jobs: [{ state: 'a' }, { state: 'b' }, { state: 'a' }] }, ['a', 'b']],
    ['$distinct([{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2}])', {}, [{ a: 1, b: 2 }, { a: 2 }]],
    ['$spread([{"a": 1, "b": 2}, {"c": 3}])', {}, [{ a: 1 }, { b: 2 }, { c: 3 }]],
    ['steps.*', { steps: { a: 1, b: [2, 3] } }, [1, 2, 3]],
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

  it('quotes itself when it fails, shortened', async () => {
    await expect(run('$error("no state")')).rejects.toThrow('the expression "$error(\\"no state\\")" failed: no state')
    const long = `$error("${'x'.repeat(5_000)}")`
    await expect(run(long)).rejects.toThrow(/^the expression .{1,220}\.\.\." failed/)
  })
  it('is refused with a regular expression that the linear engine does not know', () => {
    expect(() => compileExpression('$match(a, /(?=x)y/)')).toThrow(/unsupported/)
    expect(() => compileExpression('$match(a, /(x)\\1/)')).toThrow()
  })
  it('is refused with its position when it is no JSONata', () => {
    expect(() => compileExpression('a & (')).toThrow(/at character \d+/)
  })
})

describe('a hostile expression or body', () => {
  const many = (count: number, item: (at: number) => unknown) => Array.from({ length: count }, (_, at) => item(at))
  const bombs: [string, string, unknown][] = [
    ['a catastrophic regular expression', '$match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", /^(a+)+$/)', {}],
    ['one that meets hostile data', '$contains(text, /(x+x+)+y/)', { text: 'x'.repeat(5_000_000) }],
    ['one that searches from each place', '$match(text, /a.*b|c/)', { text: 'ca'.repeat(200_000) }],
    ['an endless recursion', '($f := function($n){ $f($n + 1) }; $f(0))', {}],
    ['a deep recursion', '($f := function($n){ 1 + $f($n + 1) }; $f(0))', {}],
    ['a huge sequence', '[1..10000000]', {}],
    ['a product of sequences', '[1..5000].([1..5000])', {}],
    ['a huge pad', '$pad("x", 500000000)', {}],
    ['a huge pad to the left', '$pad("x", -500000000)', {}],
    ['a huge pad in the data', '$pad("x", width)', { width: 1e300 }],
    ['an empty match without end', '$match("abc", /x*/)', {}],
    ['an expression in the data', '$eval(text)', { text: '($f := function($n){ $f($n + 1) }; $f(0))' }],
    ['nesting in the data that is evaluated', '$eval(text)', { text: '('.repeat(200_000) }],
    // JSONata's own `$sort` ends the process here, and the next three take a quarter of a minute each and more.
    ['a long list to sort', '$sort(list)', { list: many(90_000, (at) => -at) }],
    ['a long list without equals', '$distinct(list)', { list: many(90_000, (at) => `x${at}`) }],
    ['many objects to spread', '$spread(list)', { list: many(90_000, (at) => ({ [`k${at}`]: at })) }],
    ['many lists below a star', '*', Object.fromEntries(many(90_000, (at) => [`k${at}`, [at]]) as [string, unknown][])],
    [
      'a long list to sort by a function',
      '$sort(list, function($l, $r) { $l > $r })',
      { list: many(90_000, (at) => -at) },
    ],
    ['a long list to order', 'list^(>n)', { list: many(90_000, (n) => ({ n })) }],
    [
      'a value that holds itself many times over',
      '$reduce(list, function($l, $r) {{ "a": $l, "b": $l }})',
      { list: many(40, String) },
    ],
    ['a text that doubles', '$reduce(list, function($l, $r) { $l & $l })', { list: many(27, String) }],
    ['every member of a large answer', '**', { list: many(200_000, (n) => ({ n })) }],
    ['a join of all with all', 'a@$x.a@$y[$x.n = $y.n]', { a: many(3_000, (n) => ({ n })) }],
    ['deep nesting', '**.x', JSON.parse(`${'['.repeat(450)}{"x":1}${']'.repeat(450)}`)],
    ['a roman number', '$formatInteger(n, "I")', { n: 1e15 }],
    ['an exponent of zero', '$formatNumber(n, "0.0e0")', { n: 0 }],
  ]
  it.each(bombs)(
    '%s ends soon, with a value or an error',
    async (_, expression, body) => {
      const compiled = compileExpression(expression)
      const begun = performance.now()
      await compiled(body, variables).catch((error: Error) => expect(error.message).toContain('failed'))
      // A timer could not fire before the end. Without the bounds these take from a quarter of a minute to for ever.
      expect(performance.now() - begun).toBeLessThan(8_000)
    },
    30_000,
  )
  it('may hold much and pass', async () => {
    expect(await run('$count($sort(list))', { list: many(50_000, (at) => at) })).toBe(50_000)
    expect(await run('$count($distinct(list))', { list: many(50_000, (at) => at % 7) })).toBe(7)
  })
  it('keeps its bounds apart from those of the same expression elsewhere', async () => {
    const same = compileExpression('$sum([1..1000])')
    expect(await Promise.all(Array.from({ length: 20 }, () => same({}, variables)))).toEqual(Array(20).fill(500_500))
  })
})
