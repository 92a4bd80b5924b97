import fc from 'fast-check'
import jsonata from 'jsonata'
import { describe, expect, it } from 'vitest'
import { compileExpression } from '../../src/declarative/expression.js'
import type { ExpressionVariables } from '../../src/declarative/types.js'

/* The functions that take the place of JSONata's own do as those do. */

const variables: ExpressionVariables = {
  status: 200,
  headers: {},
  ref: {},
  input: {},
  key: 'k',
  cancelRequested: false,
  also: {},
}

const json = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))

async function theirs(expression: string, body: unknown): Promise<unknown> {
  try {
    return json(await jsonata(expression).evaluate(body))
  } catch {
    return 'an error'
  }
}

async function ours(expression: string, body: unknown): Promise<unknown> {
  try {
    return json(await compileExpression(expression)(body, variables))
  } catch {
    return 'an error'
  }
}

const small = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom('a', 'b', '', 'A', null, true),
  fc.record({ a: fc.constantFrom(1, '1'), b: fc.constantFrom(1, 2) }, { requiredKeys: [] }),
  fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }),
)
const numbers = fc.array(fc.integer({ min: -5, max: 5 }))
const texts = fc.array(fc.string({ maxLength: 2 }))
const lists = fc.oneof(numbers, texts, fc.array(small, { maxLength: 8 }))

describe('the functions of ours', () => {
  const expressions: [string, fc.Arbitrary<unknown>][] = [
    ['$sort(x)', lists],
    ['$sort(x, function($l, $r) { $l > $r })', fc.oneof(numbers, texts)],
    [
      '$sort(x, function($l, $r) { $l.a > $r.a }).b',
      fc.array(fc.record({ a: fc.integer({ max: 2, min: 0 }), b: fc.nat() })),
    ],
    ['$distinct(x)', fc.oneof(lists, small)],
    ['$distinct(x.a)', fc.array(fc.record({ a: small }))],
    ['$spread(x)', fc.oneof(fc.array(fc.dictionary(fc.constantFrom('a', 'b', 'c'), small)), small)],
    ['$pad(x, 5)', fc.string()],
    ['$pad(x, -5, "#")', fc.stringMatching(/^[a-z]{0,7}$/)],
    ['$count($distinct(x)) & $string($sort($distinct(x)))', numbers],
  ]
  it.each(expressions)('%s gives what JSONata gives', async (expression, bodies) => {
    await fc.assert(
      fc.asyncProperty(bodies, async (x) => {
        expect(await ours(expression, { x })).toEqual(await theirs(expression, { x }))
      }),
    )
  })
})
