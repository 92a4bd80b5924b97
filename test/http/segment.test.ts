import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InputError } from '../../src/errors/index.js'
import { path, pathSegment, safePath } from '../../src/http/index.js'

const refused: [string, unknown][] = [
  ['empty', ''],
  ['blanks only', '   '],
  ['one dot', '.'],
  ['two dots', '..'],
  ['climbing', '../../../user'],
  ['climbing at the end', 'a/..'],
  ['climbing in the middle', 'a/../b'],
  ['staying in the middle', 'a/./b'],
  ['encoded slashes', '..%2f..%2fuser'],
  ['encoded slash, upper case', '..%2Fadmin'],
  ['encoded dots', '%2e%2e'],
  ['encoded dots, upper case', '%2E%2E'],
  ['one dot encoded', '.%2e'],
  ['one dot', '%2e'],
  ['encoded twice', '%252e%252e'],
  ['encoded three times', '%25252e%25252e%25252fadmin'],
  ['mixed layers', '%2e%252e%2fadmin'],
  ['backslashes', '..\\admin'],
  ['encoded backslash', '..%5cadmin'],
  ['backslash encoded twice', '..%255cadmin'],
  ['overlong dots', '%c0%ae%c0%ae'],
  ['overlong slash', '..%c0%afadmin'],
  ['overlong dots in three bytes', '%e0%80%ae%e0%80%ae'],
  ['overlong dots in four bytes', '%f0%80%80%ae%f0%80%80%ae'],
  ['%u form', '%u002e%u002e'],
  ['%u form with slash', '..%u002fadmin'],
  ['full-width dots', '\uff0e\uff0e'],
  ['full-width solidus', '..\uff0fadmin'],
  ['two-dot leader', '\u2025'],
  ['path parameter', '..;x'],
  ['path parameter inside', 'a/..;jsessionid=1/b'],
  ['encoded path parameter', '..%3bx'],
  ['blank after dots', '.. '],
  ['encoded blank after dots', '..%20/x'],
  ['only a slash', '/'],
  ['only slashes', '//'],
  ['only an encoded slash', '%2f'],
  ['only an encoded backslash', '%5C'],
  ['NUL', 'a\0b'],
  ['encoded NUL', 'a%00'],
  ['NUL encoded twice', 'a%2500'],
  ['line feed', 'a\nb'],
  ['carriage return', 'a\rHost: evil'],
  ['encoded CRLF', 'a%0d%0aX-Evil: 1'],
  ['CRLF encoded twice', 'a%250d%250a'],
  ['tab', 'a\tb'],
  ['escape', '\u001b[0m'],
  ['delete', 'a\u007f'],
  ['C1 control', 'a\u0085b'],
  ['lone high surrogate', 'a\ud800'],
  ['lone low surrogate', '\udc00a'],
  ['too long', 'a'.repeat(2049)],
  ['a megabyte', 'a'.repeat(1_000_000)],
  ['undefined', undefined],
  ['null', null],
  ['boolean', true],
  ['object', { a: 1 }],
  ['object with toString', { toString: () => 'x' }],
  ['list', ['a']],
  ['function', () => 'a'],
  ['symbol', Symbol('a')],
  ['bigint', 1n],
  ['NaN', Number.NaN],
  ['infinity', Number.POSITIVE_INFINITY],
  ['number that has lost digits', 2 ** 53],
  ['negative number that has lost digits', -(2 ** 53)],
]

const accepted: [string, unknown, string][] = [
  ['plain', 'build-42', 'build-42'],
  ['number', 42, '42'],
  ['zero', 0, '0'],
  ['negative', -1, '-1'],
  ['largest safe number', Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ['digits beyond 2^53 as text', '9007199254740993', '9007199254740993'],
  ['slash', 'feature/login', 'feature%2Flogin'],
  ['encoded slash of a stored name', 'feature%2Flogin', 'feature%252Flogin'],
  ['encoded slash, lower case', 'feature%2flogin', 'feature%252flogin'],
  ['query mark', '1?private_token=x', '1%3Fprivate_token%3Dx'],
  ['fragment mark', '1#', '1%23'],
  ['ampersand', 'a&b=c', 'a%26b%3Dc'],
  ['lone percent', 'a%b', 'a%25b'],
  ['percent at the end', '100%', '100%25'],
  ['blank inside', 'my job', 'my%20job'],
  ['plus', 'a+b', 'a%2Bb'],
  ['colon', 'job:1', 'job%3A1'],
  ['semicolon', 'a;b', 'a%3Bb'],
  ['semicolon first', ';a', '%3Ba'],
  ['backslash of a domain user', 'CORP\\ann', 'CORP%5Cann'],
  ['dots in a name', 'v1.2..3', 'v1.2..3'],
  ['leading dot', '.github', '.github'],
  ['three dots', '...', '...'],
  ['leading dots', '..hidden', '..hidden'],
  ['magic name', '__proto__', '__proto__'],
  ['emoji', '🚀', '%F0%9F%9A%80'],
  ['other script', '日本', '%E6%97%A5%E6%9C%AC'],
  ['a URL', 'http://evil.example/', 'http%3A%2F%2Fevil.example%2F'],
  ['longest', 'a'.repeat(2048), 'a'.repeat(2048)],
]

describe('pathSegment', () => {
  it.each(refused)('refuses %s', (_name, value) => {
    expect(() => pathSegment(value, 'input.id')).toThrow(InputError)
    expect(() => pathSegment(value, 'input.id')).toThrow(/^input\.id: /)
  })

  it.each(accepted)('encodes once: %s', (_name, value, expected) => {
    expect(pathSegment(value, 'input.id')).toBe(expected)
  })

  it('never shows the value in its error', () => {
    expect(() => pathSegment('../secret-value', 'id')).toThrow(/^((?!secret-value).)*$/s)
  })

  it('stays quick on a value made to be decoded again and again', () => {
    expect(pathSegment(`%${'25'.repeat(1000)}41`, 'id')).toMatch(/^%25/)
  })
})

describe('any value at all', () => {
  // Building blocks of attacks, joined in any order.
  const blocks = fc.constantFrom(
    ...[
      '.',
      '..',
      '/',
      '\\',
      '%2e',
      '%2E',
      '%2f',
      '%5c',
      '%25',
      '%00',
      '%0a',
      ';',
      ' ',
      'a',
      'é',
      '%',
      '?',
      '#',
      '@',
      ':',
    ],
    ...['%c0%ae', '%c0%af', '\uff0e', '%u002e', '%252e', '%ef%bc%8e'],
  )
  const hostile = fc.array(blocks, { maxLength: 8 }).map((parts) => parts.join(''))
  const value = fc.oneof(hostile, fc.string({ unit: 'binary', maxLength: 20 }), fc.string())

  const decodings = (text: string): string[] => {
    const layers = [text]
    for (let at = text; ; ) {
      const next = at.replace(/%[0-9a-f]{2}/gi, (hex) => String.fromCharCode(Number.parseInt(hex.slice(1), 16)))
      if (next === at) return layers
      layers.push(next)
      at = next
    }
  }

  it('is one segment that decodes to itself, or refused; and climbs in no layer of decoding', () => {
    fc.assert(
      fc.property(value, (text) => {
        let segment: string
        try {
          segment = pathSegment(text, 'x')
        } catch (error) {
          expect(error).toBeInstanceOf(InputError)
          return
        }
        expect(segment).toMatch(/^[A-Za-z0-9\-_.!~*'()%]+$/)
        expect(decodeURIComponent(segment)).toBe(text)
        expect(new URL(`http://h/a/${segment}/b`).pathname).toBe(`/a/${segment}/b`)
        for (const layer of decodings(segment)) {
          expect(layer).not.toMatch(/[\0\r\n]/)
          for (const part of layer.split(/[/\\]/)) expect(['.', '..']).not.toContain(part.trim())
        }
      }),
      { numRuns: 3000 },
    )
  })

  it('keeps to its place between its neighbours in a whole path', () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        let made: string
        try {
          made = path`/api/${a}/x/${b}.json`.pathname
        } catch (error) {
          expect(error).toBeInstanceOf(InputError)
          return
        }
        const url = new URL(`http://h${made}`)
        expect(url.pathname.split('/')).toHaveLength(5)
        expect(url.pathname).toMatch(/^\/api\/[^/]+\/x\/[^/]+\.json$/)
        expect([url.host, url.search, url.hash]).toEqual(['h', '', ''])
      }),
      { numRuns: 2000 },
    )
  })
})

describe('path', () => {
  it('encodes each value as one segment and remembers only its template', () => {
    const made = path`/repos/${'me'}/${'a/b'}/runs/${7}`
    expect(made.pathname).toBe('/repos/me/a%2Fb/runs/7')
    expect(made.template).toBe('/repos/{}/{}/runs/{}')
  })

  it('names the value that is wrong', () => {
    expect(() => path`/repos/${'me'}/${'..'}`).toThrow('value 2 of path /repos/{}/{}: holds a "." or ".." path segment')
    expect(() => path`/jobs/${undefined}`).toThrow('value 1 of path /jobs/{}: is missing')
  })

  it('lets a value fill a part of a segment', () => {
    expect(path`/jobs/${'a/b'}.json`.pathname).toBe('/jobs/a%2Fb.json')
    expect(path`/jobs/${1}-${2}`.pathname).toBe('/jobs/1-2')
    expect(path`/operations/${'x'}:cancel`.pathname).toBe('/operations/x:cancel')
  })

  it.each([
    ['.', ''],
    ['', '.'],
    ['%2', 'e'],
    ['..', '%2fx'],
  ])('judges the whole segment when text and value make it together: %s + %s', (a, b) => {
    expect(() => safePath([{ literal: `/x/${a}` }, { value: b === '' ? '.' : b, field: 'f' }], 't')).toThrow(InputError)
  })

  it('adds the leading slash, so that a value can never become part of the host', () => {
    expect(path`${'evil.example'}/x`.pathname).toBe('/evil.example/x')
    expect(path`jobs`.pathname).toBe('/jobs')
    expect(path``.pathname).toBe('')
  })

  it('encodes values behind a question mark for a query, where dots are harmless', () => {
    const made = path`/search?q=${'../a b&c=d'}&n=${''}`
    expect(made.pathname).toBe('/search')
    expect(made.search).toBe('q=..%2Fa%20b%26c%3Dd&n=')
  })

  it.each([
    ['a dot segment', '/a/../b'],
    ['an encoded dot segment', '/a/%2e%2e/b'],
    ['a fragment', '/a#b'],
    ['a backslash', '/a\\b'],
    ['a line break', '/a\nb'],
  ])('refuses %s in the text itself as a mistake of the definition', (_name, literal) => {
    expect(() => safePath([{ literal }], literal)).toThrow(expect.objectContaining({ code: 'definition' }))
  })

  it('blames the definition and not the value when the text alone is wrong', () => {
    const parts = [{ literal: '/a/../' }, { value: 'fine', field: 'input.x' }]
    expect(() => safePath(parts, '/a/../{input.x}')).toThrow(expect.objectContaining({ code: 'definition' }))
  })
})
