import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lookUp, parseTemplate, placeholdersIn, render, renderPath } from '../../src/declarative/template.js'

const scope = { input: { a: 'x', n: 7, list: [1, 2], deep: { b: null, c: false } }, ref: { id: '42' }, key: 'k-1' }

describe('placeholders', () => {
  const values: [unknown, unknown][] = [
    ['{input.a}', 'x'],
    ['{input.n}', 7],
    ['{input.list}', [1, 2]],
    ['{input}', scope.input],
    ['{input.deep.c}', false],
    ['{input.deep.b}', undefined],
    ['{input.missing}', undefined],
    ['a {input.a} b {input.n}', 'a x b 7'],
    ['list {input.list}', 'list [1,2]'],
    ['a {input.missing} b', undefined],
    ['{{input.a}}', '{input.a}'],
    ['plain { text } {}', 'plain { text } {}'],
    ['{"json": true}', '{"json": true}'],
    [
      { a: '{input.a}', gone: '{input.missing}', keep: null, n: 3 },
      { a: 'x', keep: null, n: 3 },
    ],
    [
      ['{input.a}', '{input.missing}', ['{key}']],
      ['x', ['k-1']],
    ],
    ['{input.constructor}', undefined],
    ['{input.__proto__.polluted}', undefined],
    ['{ref.id.length}', undefined],
  ]
  it.each(values)('%j becomes %j', (template, value) => {
    expect(render(template, scope)).toEqual(value)
  })
  it('are found wherever they stand', () => {
    expect(placeholdersIn({ a: ['{input.x}'], b: { c: 'q={ref.id}&{{key}}' } })).toEqual([
      ['input', 'x'],
      ['ref', 'id'],
    ])
  })
  it('never reach the prototype, whatever their name', () => {
    const name = fc.oneof(
      fc.string(),
      fc.constantFrom('__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty'),
    )
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 3 }), (members) => {
        expect(typeof lookUp({ input: { own: 1 } }, ['input', ...members])).not.toBe('function')
      }),
    )
  })
  it('parse into parts that join to the text again', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const parts = parseTemplate(text)
        const joined = parts
          .map((part) => ('literal' in part ? part.literal : `{${part.placeholder.join('.')}}`))
          .join('')
        expect(joined.replace(/[{}]/g, '')).toBe(text.replace(/[{}]/g, ''))
      }),
    )
  })
})

describe('a path', () => {
  it('encodes each value as one segment, or a part of one', () => {
    expect(renderPath('/a/{input.a}/{ref.id}.json', { input: { a: 'feature/x y' }, ref: { id: 7 } }).pathname).toBe(
      '/a/feature%2Fx%20y/7.json',
    )
  })
  it('says which value is missing', () => {
    expect(() => renderPath('/a/{input.gone}', scope)).toThrow(/input\.gone: is missing/)
  })
  it('stays under its template for any value that it takes at all', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constantFrom('..', '.', '%2e%2e', 'a/../../b', '//h', '\\..\\', 'x?y', 'x#y')),
        (value) => {
          let pathname: string
          try {
            ;({ pathname } = renderPath('/jobs/{input.v}/run', { input: { v: value } }))
          } catch {
            return
          }
          const url = new URL(`https://h.example${pathname}`)
          expect(url.host).toBe('h.example')
          expect(url.pathname.split('/')).toHaveLength(4)
          expect(url.pathname.startsWith('/jobs/')).toBe(true)
          expect(url.pathname.endsWith('/run')).toBe(true)
          expect(url.search + url.hash).toBe('')
        },
      ),
    )
  })
})
