import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stateTable, statusWord } from '../../src/declarative/states.js'
import type { Phase } from '../../src/define/index.js'

describe('a status as a word', () => {
  const table: [unknown[], string][] = [
    [['running'], 'running'],
    [['completed', 'success'], 'completed/success'],
    [[null], ''],
    [[undefined], ''],
    [['completed', null], 'completed/'],
    [[7], '7'],
    [[true], 'true'],
    [[{ a: 1 }], '{"a":1}'],
    [[['COMPLETED', 'COMPLETING']], '["COMPLETED","COMPLETING"]'],
  ]
  it.each(table)('%j is %j', (values, word) => {
    expect(statusWord(values)).toBe(word)
  })
})

describe('a table of states', () => {
  const github: Record<string, Phase> = {
    '*': 'working',
    'completed/*': 'failed',
    'completed/success': 'succeeded',
    '*/action_required': 'input_required',
  }
  const table: [string, Phase | undefined][] = [
    ['completed/success', 'succeeded'],
    ['completed/timed_out', 'failed'],
    ['completed/', 'failed'],
    ['waiting/action_required', 'input_required'],
    ['completed/action_required', 'failed'],
    ['queued/', 'working'],
    ['anything', 'working'],
    ['', 'working'],
  ]
  it.each(table)('looks %j up, the most specific entry first', (word, phase) => {
    expect(stateTable(github)(word)).toBe(phase)
  })
  it('does not care in which order the entries are written', () => {
    const backwards = Object.fromEntries(Object.entries(github).reverse())
    for (const [word, phase] of table) expect(stateTable(backwards)(word)).toBe(phase)
  })
  it('is exact, or takes no notice of case where it is told so', () => {
    expect(stateTable({ done: 'succeeded' })('Done')).toBeUndefined()
    expect(stateTable({ done: 'succeeded', 'A/*': 'failed' }, true)('Done')).toBe('succeeded')
    expect(stateTable({ 'A/*': 'failed' }, true)('a/B')).toBe('failed')
  })
  it('lets a star stand for one word, and alone for any', () => {
    expect(stateTable({ 'a/*': 'failed' })('a')).toBeUndefined()
    expect(stateTable({ 'a/*': 'failed' })('a/b/c')).toBeUndefined()
  })
  it('never throws, and never answers a phase that is not in it', () => {
    const words = fc.oneof(
      fc.string(),
      fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', '*', '/', '*/*'),
    )
    fc.assert(
      fc.property(words, (word) => {
        const phase = stateTable({ queued: 'working', 'done/*': 'succeeded' })(word)
        if (word !== 'queued' && !/^done\/[^/]*$/.test(word)) expect(phase).toBeUndefined()
      }),
    )
  })
})
