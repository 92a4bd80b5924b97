import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compilePath,
  compileTemplate,
  hasStrayBraces,
  lookUp,
  parseTemplate,
  placeholdersIn,
} from '../../src/declarative/template.js'

const scope = { input: { a: 'x', n: 7, list: [1, 2], deep: { b: null, c: false } }, ref: { id: '42' }, key: 'k-1' }

describe('placeholders', () => {
  const values: [unknown, unknown][] = [
    ['{input.a}', 'x'],
    ['{input.n}', 7],
    ['{input.list}', [1, 2]],
    ['{input}', scope.input],
    ['{input.deep.c}', false],
    ['{input.deep.b}', null],
    ['b is {input.deep.b}', undefined],
    ['{input.missing}', undefined],
    ['a {input.a} b {input.n}', 'a x b 7'],
    ['list {input.list}', 'list [1,2]'],
    ['a {input.missing} b', undefined],
    ['{{input.a}}', '{input.a}'],
    ['plain { text } {}', 'plain { text } {}'],
    ['{"json": true}', '{"json": true}'],
    ['{ input.a }', '{ input.a }'],
    ['{{{input.a}}}', '{{input.a}}'],
    ['{input.list.1}', 2],
    ['{input.list.9}', undefined],
    ['{ job(id: {ref.id}) }', '{ job(id: 42) }'],
    ['deep {input.deep}', 'deep {"b":null,"c":false}'],
    [{ a: '{input.deep.b}' }, { a: null }],
    [{ '{input.a}': 1 }, { '{input.a}': 1 }],
    [new Date(0), new Date(0)],
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
    expect(compileTemplate(template)(scope)).toEqual(value)
  })
  it('are found wherever they stand', () => {
    expect(placeholdersIn({ a: ['{input.x}'], b: { c: 'q={ref.id}&{{key}}' } })).toEqual([
      ['input', 'x'],
      ['ref', 'id'],
    ])
  })
  it.each([
    ['/jobs/{ref.id}', false],
    ['/jobs/{{ref.id}}', false],
    ['/jobs/{ ref.id }', true],
    ['/jobs/{ref.id', true],
    ['/jobs/ref.id}', true],
    ['/jobs/{}', true],
  ])('leave no braces over in %j: %j', (text, stray) => {
    expect(hasStrayBraces(text)).toBe(stray)
  })
  it('are filled in anew each time', () => {
    const template = compileTemplate({ a: ['{input.x}'] })
    expect(template({ input: { x: 1 } })).toEqual({ a: [1] })
    expect(template({ input: { x: 2 } })).toEqual({ a: [2] })
    expect(template({})).toEqual({ a: [] })
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
    expect(compilePath('/a/{input.a}/{ref.id}.json')({ input: { a: 'feature/x y' }, ref: { id: 7 } }).pathname).toBe(
      '/a/feature%2Fx%20y/7.json',
    )
  })
  it('may end in a query, where values may hold anything', () => {
    const { pathname, search } = compilePath('/jobs/{ref.id}?tag={input.a}&all=1')({
      ref: { id: 7 },
      input: { a: 'a/..&b' },
    })
    expect([pathname, search]).toEqual(['/jobs/7', 'tag=a%2F..%26b&all=1'])
  })
  it.each([[null], [undefined]])('needs its values: %j', (value) => {
    expect(() => compilePath('/a/{input.v}')({ input: { v: value } })).toThrow(/input\.v: is missing/)
  })
  it.each([[true], [{}], [['a']], [''], ['..'], [Number.NaN], [2 ** 60]])('refuses %j as a segment', (value) => {
    expect(() => compilePath('/a/{input.v}')({ input: { v: value } })).toThrow(/input\.v/)
  })
  it('says which value is missing', () => {
    expect(() => compilePath('/a/{input.gone}')(scope)).toThrow(/input\.gone: is missing/)
  })
  it('stays under its template for any value that it takes at all', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constantFrom('..', '.', '%2e%2e', 'a/../../b', '//h', '\\..\\', 'x?y', 'x#y')),
        (value) => {
          let pathname: string
          try {
            ;({ pathname } = compilePath('/jobs/{input.v}/run')({ input: { v: value } }))
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
