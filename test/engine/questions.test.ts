import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FormField } from '../../src/define/index.js'
import { planQuestions, readAnswer, taskKey } from '../../src/engine/questions.js'
import type { NumberedQuestion } from '../../src/store/records.js'

const asked = (n: number, source: string, mark?: NumberedQuestion['mark']): NumberedQuestion => ({
  n,
  key: `${source}-${n}`,
  source,
  message: 'm',
  at: 0,
  mark,
})
const question = (key: string) => ({ key, message: key })
const plan = (before: NumberedQuestion[], now: string[]) => planQuestions(before, now.map(question), 1_000)

describe('a plan for the questions of a look', () => {
  it('shows a new question', () => {
    expect(plan([], ['approve'])).toEqual({ open: [], fresh: [question('approve')], closed: [], answered: 0 })
  })
  it('keeps one that is still asked', () => {
    expect(plan([asked(1, 'approve')], ['approve'])).toMatchObject({ open: [1], fresh: [], closed: [] })
  })
  it('does not show an answered one again until the upstream has moved on', () => {
    const sent = asked(1, 'approve', { state: 'sent', at: 5_000 })
    expect(plan([sent], ['approve'])).toEqual({ open: [], fresh: [], closed: [], answered: 1 })
    expect(plan([sent], [])).toMatchObject({ closed: [1] })
  })
  it('takes a question that comes back after it was closed for a new one', () => {
    const closed = asked(1, 'approve', { state: 'closed', at: 5_000 })
    expect(plan([closed], ['approve'])).toMatchObject({ open: [], fresh: [question('approve')] })
  })
  it('asks again when a claim was left behind by a crash, and not while it may still be sent', () => {
    expect(plan([asked(1, 'approve', { state: 'claimed', at: 999 })], ['approve'])).toMatchObject({
      closed: [1],
      fresh: [question('approve')],
    })
    expect(plan([asked(1, 'approve', { state: 'claimed', at: 1_000 })], ['approve'])).toMatchObject({
      closed: [],
      fresh: [],
      answered: 1,
    })
  })
  it('tells two questions with one key apart', () => {
    expect(plan([asked(1, 'input')], ['input', 'input'])).toMatchObject({ open: [1], fresh: [question('input')] })
    expect(plan([asked(1, 'input'), asked(2, 'input')], ['input', 'input'])).toMatchObject({ open: [1, 2], fresh: [] })
  })
  it('accounts for every standing and every listed question exactly once', () => {
    const key = fc.constantFrom('a', 'b', 'c')
    const mark = fc.option(
      fc.record({ state: fc.constantFrom('claimed' as const, 'sent' as const, 'closed' as const), at: fc.nat(2_000) }),
      { nil: undefined },
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(key, mark), { maxLength: 6 }), fc.array(key, { maxLength: 6 }), (before, now) => {
        const standing = before.map(([source, state], at) => asked(at + 1, source, state))
        const result = plan(standing, now)
        expect(result.open.length + result.fresh.length + result.answered).toBe(now.length)
        const numbers = [...result.open, ...result.closed]
        expect(new Set(numbers).size).toBe(numbers.length)
        for (const n of result.open) expect(standing[n - 1]?.mark).toBeUndefined()
      }),
    )
  })
})

describe('a task key', () => {
  it('is never used twice, and never a name with a meaning of its own', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', '', 'approve', 'approve-2')),
          { maxLength: 12 },
        ),
        (sources) => {
          const used: string[] = []
          for (const source of sources) {
            const key = taskKey(source, used)
            expect(used).not.toContain(key)
            expect(key).toMatch(/^[A-Za-z0-9_.-]+$/)
            expect(key in {}).toBe(false)
            used.push(key)
          }
        },
      ),
    )
  })
  it('counts rounds', () => {
    expect(taskKey('approve', [])).toBe('approve')
    expect(taskKey('approve', ['approve'])).toBe('approve-2')
    expect(taskKey('approve', ['approve', 'approve-2'])).toBe('approve-3')
  })
})

describe('an answer', () => {
  const accept = (content: unknown) => ({ action: 'accept', content })
  const read = (form: Record<string, FormField>, response: unknown) => readAnswer('q', { form }, response)

  it('is nothing when the person cancelled', () => {
    expect(read({}, { action: 'cancel' })).toBeUndefined()
  })
  it('fills defaults in and leaves optional fields out', () => {
    const form: Record<string, FormField> = {
      comment: { type: 'string', optional: true },
      level: { type: 'integer', default: 3 },
    }
    expect(read(form, accept({}))).toEqual({ action: 'accept', content: { level: 3 } })
  })
  it('drops what is not in the form', () => {
    expect(read({ a: { type: 'string' } }, accept({ a: 'x', more: 1 }))).toEqual({
      action: 'accept',
      content: { a: 'x' },
    })
  })
  it('needs no content to decline', () => {
    expect(read({ a: { type: 'string' } }, { action: 'decline' })).toEqual({ action: 'decline', content: {} })
  })

  const wrong: [string, Record<string, FormField>, unknown, RegExp][] = [
    ['no object', {}, 'yes', /action must be/],
    ['an unknown action', {}, { action: 'approve' }, /action must be/],
    ['content that is a list', {}, accept([]), /content must be an object/],
    ['a missing field', { name: { type: 'string' } }, accept({}), /content\.name is missing/],
    ['a number where text is due', { name: { type: 'string' } }, accept({ name: 1 }), /content\.name must be text/],
    [
      'a choice that is not offered',
      { env: { type: 'string', enum: ['a', 'b'] } },
      accept({ env: 'c' }),
      /one of a, b/,
    ],
    [
      'a titled choice that is not offered',
      { env: { type: 'string', oneOf: [{ const: 'a', title: 'A' }] } },
      accept({ env: 'A' }),
      /one of a/,
    ],
    ['text that is too long', { name: { type: 'string', maxLength: 2 } }, accept({ name: 'abc' }), /at most 2/],
    ['text that is too short', { name: { type: 'string', minLength: 2 } }, accept({ name: 'a' }), /at least 2/],
    ['a malformed address', { mail: { type: 'string', format: 'email' } }, accept({ mail: 'x' }), /valid email/],
    ['a malformed date', { day: { type: 'string', format: 'date' } }, accept({ day: '2026-13-40' }), /valid date/],
    ['a fraction where a whole number is due', { n: { type: 'integer' } }, accept({ n: 1.5 }), /whole number/],
    ['a number as text', { n: { type: 'number' } }, accept({ n: '1' }), /must be a number/],
    ['a number below the minimum', { n: { type: 'number', minimum: 3 } }, accept({ n: 2 }), /at least 3/],
    ['a number above the maximum', { n: { type: 'number', maximum: 3 } }, accept({ n: 4 }), /at most 3/],
    ['a word where yes or no is due', { ok: { type: 'boolean' } }, accept({ ok: 'yes' }), /true or false/],
    [
      'a list with a stranger',
      { tags: { type: 'array', items: { enum: ['a'] } } },
      accept({ tags: ['b'] }),
      /only hold a/,
    ],
    ['a list of numbers', { tags: { type: 'array' } }, accept({ tags: [1] }), /list of texts/],
    ['too many entries', { tags: { type: 'array', maxItems: 1 } }, accept({ tags: ['a', 'b'] }), /at most 1/],
  ]
  it.each(wrong)('is refused for %s, naming the field', (_, form, response, message) => {
    expect(() => read(form, response)).toThrow(message)
    expect(() => read(form, response)).toThrow(/inputResponses\.q/)
  })
})
