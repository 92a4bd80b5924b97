import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseBody, parseJson } from '../../src/http/index.js'
import { decodeText } from '../../src/http/json.js'

describe('parseJson', () => {
  it.each([
    ['{"id":9007199254740993}', { id: '9007199254740993' }],
    ['{"id":-9007199254740993}', { id: '-9007199254740993' }],
    ['{"id":9007199254740991}', { id: 9007199254740991 }],
    ['{"id":9007199254740992}', { id: '9007199254740992' }],
    ['{"id":1234567890123456}', { id: 1234567890123456 }],
    ['[123456789012345678901234567890]', ['123456789012345678901234567890']],
    ['{"x":0.30000000000000004}', { x: 0.30000000000000004 }],
    ['{"x":1234567890123456789.5}', { x: Number('1234567890123456789.5') }],
    ['{"x":1e3,"id":9007199254740993}', { x: 1000, id: '9007199254740993' }],
    ['1e400', '1e400'],
    ['-1E+400', '-1E+400'],
    ['{"x":1e-400}', { x: 0 }],
    ['{"s":"9007199254740993"}', { s: '9007199254740993' }],
    ['{"s":"9007199254740993","a":1,"a":2}', { s: '9007199254740993', a: 2 }],
    ['{"a":1,"a":2}', { a: 2 }],
    ['\ufeff{"a":1}', { a: 1 }],
    ['null', null],
    [' [ ] ', []],
  ])('%s', (text, expected) => {
    expect(parseJson(text)).toEqual(expected)
  })

  it.each([
    ['{'],
    [''],
    ['<html>'],
    ["{'a':1}"],
    ['{"a":1,}'],
    ['{"a":1}x'],
    ['[9007199254740993'],
    ['NaN'],
    ['{"a":01}'],
  ])('refuses %j', (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError)
  })

  it.each([
    ['small numbers', '1'],
    ['large numbers', '9007199254740993'],
  ])('refuses nesting that would overflow a stack, with %s', (_name, inner) => {
    expect(() => parseJson('['.repeat(100_000) + inner + ']'.repeat(100_000))).toThrow(/nested deeper/)
    expect(() => parseJson('{"a":'.repeat(100_000) + inner + '}'.repeat(100_000))).toThrow(/nested deeper/)
  })

  it('does not count brackets in strings as nesting', () => {
    expect(parseJson(JSON.stringify({ a: `\\"${'['.repeat(2000)}` }))).toEqual({ a: `\\"${'['.repeat(2000)}` })
  })

  it.each([
    ['plainly', '{"__proto__":{"x":1},"a":{"__proto__":{"x":1}}}'],
    ['with a large number', '{"__proto__":{"x":1},"a":{"__proto__":{"x":9007199254740993}}}'],
    ['escaped', '{"\\u005f_proto__":{"x":1},"a":{"__pr\\u006fto__":{"x":1}}}'],
  ])('leaves out __proto__ written %s', (_name, text) => {
    const value = parseJson(text)
    expect(value).toEqual({ a: {} })
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.assign({}, value)).not.toHaveProperty('x')
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })

  it('agrees with JSON.parse on everything JSON.parse can hold', () => {
    // A large number beside it forces the lossless parser to read the same value.
    fc.assert(
      fc.property(fc.json(), (text) => {
        const expected: unknown = JSON.parse(text)
        if (/__proto__/.test(text) || /\d{16}|\d[eE]\+?\d{3}/.test(text)) return
        expect(parseJson(text)).toEqual(expected)
        expect(parseJson(`[9007199254740993,${text}]`)).toEqual(['9007199254740993', expected])
      }),
    )
  })

  it('keeps every digit of every integer', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), (big) => {
        const { id } = parseJson(`{"id":${big}}`) as { id: unknown }
        expect(String(id)).toBe(String(big))
        expect(typeof id).toBe(Number.isSafeInteger(Number(big)) ? 'number' : 'string')
      }),
    )
  })
})

describe('parseBody', () => {
  const page = '<!DOCTYPE html><html><title>Sign in</title></html>'

  it.each([
    ['{"a":1}', 'application/json', 'json', { a: 1 }],
    ['{"a":1}', 'application/json; charset=utf-8', 'json', { a: 1 }],
    ['{"a":1}', 'APPLICATION/VND.GITHUB+JSON', 'json', { a: 1 }],
    ['{"a":1}', 'text/json', 'json', { a: 1 }],
    ['"text"', 'application/json', 'json', 'text'],
    ['5', 'application/json', 'json', 5],
    ['{"a":1}', undefined, 'json', { a: 1 }],
    ['{"a":1}', 'text/plain', 'json', { a: 1 }],
    [' [1]', 'application/octet-stream', 'json', [1]],
    ['{"a":1}\n{"a":2}', 'application/x-ndjson', 'text', '{"a":1}\n{"a":2}'],
    ['{"a":1}\n{"a":2}', 'application/jsonl', 'text', '{"a":1}\n{"a":2}'],
    ['[INFO] started', 'text/plain', 'text', '[INFO] started'],
    ['5', 'text/plain', 'text', '5'],
    ['true', undefined, 'text', 'true'],
    ['', 'application/json', 'text', ''],
    ['  ', 'application/json', 'text', '  '],
    [page, 'text/html', 'html', page],
    [page, 'application/json', 'html', page],
    [page, undefined, 'html', page],
    [`<!-- a -->\n${page}`, undefined, 'html', `<!-- a -->\n${page}`],
    ['<job/>', 'application/xml', 'text', '<job/>'],
    ['{"a":', 'application/json', 'broken', '{"a":'],
    ['upstream connect error', 'application/json', 'broken', 'upstream connect error'],
  ])('%j as %s is %s', (text, type, kind, value) => {
    expect(parseBody(text, type)).toMatchObject({ kind, value })
  })
})

describe('decodeText', () => {
  it.each([
    ['UTF-8', [0xc3, 0xa9], undefined, 'é'],
    ['wrong bytes', [0x61, 0xff, 0x62], 'application/json', 'a\ufffdb'],
    ['a cut character', [0x61, 0xe2, 0x82], undefined, 'a\ufffd'],
    ['latin 1', [0xe9], 'text/plain; charset=ISO-8859-1', 'é'],
    ['a quoted charset', [0xe9], 'text/plain; charset="windows-1252"', 'é'],
    ['an unknown charset', [0xc3, 0xa9], 'text/plain; charset=klingon', 'é'],
    ['a byte order mark', [0xef, 0xbb, 0xbf, 0x61], undefined, 'a'],
  ])('%s', (_name, bytes, type, text) => {
    expect(decodeText(Uint8Array.from(bytes), type)).toBe(text)
  })
})
