import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DefinitionError, InputError, UpstreamError } from '../../src/errors/index.js'
import { checkBaseUrl, configuredUrl, path, rebase, responseUrl } from '../../src/http/index.js'

describe('checkBaseUrl', () => {
  it.each([
    ['https://farm.example', 'https://farm.example/'],
    ['https://farm.example/api', 'https://farm.example/api'],
    ['http://127.0.0.1:8080/a/b/', 'http://127.0.0.1:8080/a/b/'],
    ['HTTPS://Farm.Example/Api', 'https://farm.example/Api'],
    [new URL('http://[::1]:1/'), 'http://[::1]:1/'],
  ])('takes %s', (value, expected) => {
    expect(checkBaseUrl(value)).toBe(expected)
  })

  it.each([
    ['no text', 5, 'no absolute URL'],
    ['missing', undefined, 'no absolute URL'],
    ['empty', '', 'no absolute URL'],
    ['relative', '/api', 'no absolute URL'],
    ['host only', 'farm.example', 'no absolute URL'],
    ['file', 'file:///etc', 'scheme is "file"'],
    ['javascript', 'javascript:alert(1)', 'scheme is "javascript"'],
    ['user', 'https://me@farm.example', 'user name or password'],
    ['password', 'https://me:pw@farm.example', 'user name or password'],
    ['query', 'https://farm.example/?a=1', 'a query'],
    ['empty query', 'https://farm.example/?', 'a query'],
    ['fragment', 'https://farm.example/#x', 'a fragment'],
  ])('refuses %s', (_name, value, problem) => {
    expect(() => checkBaseUrl(value, 'job.baseUrl')).toThrow(DefinitionError)
    expect(() => checkBaseUrl(value, 'job.baseUrl')).toThrow(problem)
  })

  it('does not repeat the password', () => {
    expect(() => checkBaseUrl('https://me:hunter22@farm.example')).toThrow(/^((?!hunter22).)*$/)
  })
})

describe('configuredUrl', () => {
  it.each([
    ['https://h', path`/jobs`, 'https://h/jobs'],
    ['https://h/', path`/jobs`, 'https://h/jobs'],
    ['https://h/api/v1', path`/jobs/${1}`, 'https://h/api/v1/jobs/1'],
    ['https://h/api/v1/', path`/jobs/${1}`, 'https://h/api/v1/jobs/1'],
    ['https://h/api/v1/', path`jobs`, 'https://h/api/v1/jobs'],
    ['https://h/api/v1', path``, 'https://h/api/v1'],
    ['https://h/api/v1/', path``, 'https://h/api/v1/'],
    ['https://h/api', path`/`, 'https://h/api/'],
    ['https://h', path`//evil.example/x`, 'https://h//evil.example/x'],
    ['https://h', path`@evil.example`, 'https://h/@evil.example'],
    ['https://h', path`:80/x`, 'https://h/:80/x'],
    ['https://h', path`${'evil.example'}`, 'https://h/evil.example'],
    ['https://h/a', path`/b?c=${'d e'}`, 'https://h/a/b?c=d%20e'],
  ])('%s and %s', (baseUrl, made, expected) => {
    const url = configuredUrl({ baseUrl, path: made })
    expect(url.href).toBe(expected)
    expect(url.credentials).toBe(true)
    expect(url.template).toBe(made.template)
  })

  it('writes the query: lists repeat the key, absent members are dropped', () => {
    const query = {
      a: 1,
      b: ['x', 'y z'],
      c: undefined,
      d: null,
      e: false,
      f: '',
      g: { h: [1] },
      'k&=': 'ü',
      i: [null, 2],
    }
    expect(configuredUrl({ baseUrl: 'https://h', path: path`/x?n=0`, query }).href).toBe(
      'https://h/x?n=0&a=1&b=x&b=y%20z&e=false&f=&g=%7B%22h%22%3A%5B1%5D%7D&k%26%3D=%C3%BC&i=2',
    )
  })

  it('refuses numbers in a query that have lost digits', () => {
    const query = { id: 2 ** 53 }
    expect(() => configuredUrl({ baseUrl: 'https://h', path: path`/x`, query })).toThrow(InputError)
    expect(() => configuredUrl({ baseUrl: 'https://h', path: path`/x`, query: { id: Number.NaN } })).toThrow(InputError)
  })

  it('takes no path that was not checked', () => {
    const forged = { pathname: '/../admin', search: '', template: '/x' } as unknown as ReturnType<typeof path>
    expect(() => configuredUrl({ baseUrl: 'https://h/api', path: forged })).toThrow(DefinitionError)
    expect(() => configuredUrl({ baseUrl: 'https://h/api', path: '/x' as unknown as ReturnType<typeof path> })).toThrow(
      DefinitionError,
    )
  })

  it('keeps every value under the base, and puts every query value back out as it went in', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 12 })
    fc.assert(
      fc.property(text, text, text, (id, key, value) => {
        let url: URL
        try {
          url = new URL(
            configuredUrl({ baseUrl: 'https://h:8443/api/v1/', path: path`/jobs/${id}`, query: { [key]: value } }).href,
          )
        } catch (error) {
          expect(error).toBeInstanceOf(InputError)
          return
        }
        expect(url.origin).toBe('https://h:8443')
        expect(url.pathname).toMatch(/^\/api\/v1\/jobs\/[^/]+$/)
        expect(url.hash).toBe('')
        expect([...url.searchParams]).toEqual([[key, value]])
      }),
      { numRuns: 1000 },
    )
  })
})

describe('responseUrl', () => {
  const base = 'https://api.example/v1/'
  const refuse = { base, elsewhere: 'refuse', template: '(logs_url)' } as const
  const bare = { ...refuse, elsewhere: 'without-credentials' } as const

  it.each([
    ['the same origin', 'https://api.example/other?x=1', 'https://api.example/other?x=1'],
    ['an explicit default port', 'https://api.example:443/a', 'https://api.example/a'],
    ['a path', '/v1/jobs/7', 'https://api.example/v1/jobs/7'],
    ['a relative path', 'jobs/7', 'https://api.example/v1/jobs/7'],
    ['a fragment, which is dropped', '/a#frag', 'https://api.example/a'],
  ])('follows %s with credentials', (_name, value, href) => {
    expect(responseUrl(value, refuse)).toMatchObject({ href, credentials: true, template: '(logs_url)' })
  })

  it.each([
    ['another host', 'https://evil.example/x'],
    ['another host without scheme', '//evil.example/x'],
    ['backslashes that become slashes', '\\\\evil.example\\x'],
    ['a subdomain', 'https://a.api.example/x'],
    ['another port', 'https://api.example:8443/x'],
  ])('treats %s as elsewhere', (_name, value) => {
    expect(() => responseUrl(value, refuse)).toThrow(UpstreamError)
    expect(responseUrl(value, bare).credentials).toBe(false)
  })

  it.each([
    ['nothing', undefined],
    ['a number', 7],
    ['an empty text', ''],
    ['an object', { href: 'https://api.example/' }],
    ['a malformed URL', 'https://'],
    ['a file', 'file:///etc/passwd'],
    ['data', 'data:text/plain,x'],
    ['ftp', 'ftp://api.example/x'],
    ['javascript', 'javascript:alert(1)'],
    ['http instead of https', 'http://api.example/x'],
    ['http elsewhere', 'http://files.example/x'],
    ['a user', 'https://me@api.example/x'],
    ['a password', 'https://me:pw@files.example/x'],
    ['a look-alike host before the @', 'https://api.example@evil.example/'],
    ['a line break', 'https://api.example/a\nb'],
    ['a tab that the parser drops', 'https://evil\t.example/'],
    ['too long', `https://api.example/${'a'.repeat(20_000)}`],
    ['loopback', 'https://127.0.0.1/x'],
    ['loopback in another spelling', 'https://2130706433/x'],
    ['loopback, version 6', 'https://[::1]/x'],
    ['mapped loopback', 'https://[::ffff:127.0.0.1]/x'],
    ['cloud metadata', 'https://169.254.169.254/latest'],
    ['cloud metadata by name', 'https://metadata.google.internal/x'],
    ['localhost', 'https://localhost/x'],
    ['localhost with a dot', 'https://localhost./x'],
    ['a private address', 'https://10.1.2.3/x'],
    ['a unique local address', 'https://[fd00::1]/x'],
  ])('refuses %s even without credentials', (_name, value) => {
    try {
      responseUrl(value, bare)
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({ code: 'upstream', fault: 'url', transient: false, noEffect: true })
    }
  })

  it('lets an internal base point to its internal neighbours', () => {
    const rules = { ...bare, base: 'http://10.0.0.1:8080/api' }
    expect(responseUrl('http://10.0.0.2/log', rules).credentials).toBe(false)
  })

  it('shows where a refused URL pointed, without path and query', () => {
    expect(() => responseUrl('https://evil.example/secret?token=abc', refuse)).toThrow(
      'URL (logs_url) was refused: the upstream points to another origin, https://evil.example',
    )
    expect(() => responseUrl('https://evil.example/secret?token=abc', refuse)).toThrow(/^((?!secret|token).)*$/)
  })

  it('gives credentials to the configured origin only, whatever the URL', () => {
    fc.assert(
      fc.property(fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.string(), fc.webPath()), (value) => {
        try {
          const url = responseUrl(value, bare)
          expect(url.credentials).toBe(new URL(url.href).origin === 'https://api.example')
          expect(new URL(url.href).protocol).toBe('https:')
        } catch (error) {
          expect(error).toBeInstanceOf(UpstreamError)
        }
      }),
      { numRuns: 1000 },
    )
  })
})

describe('rebase', () => {
  it.each([
    ['http://inner:8080/queue/item/7/?x=1#y', 'https://ci.example/queue/item/7/?x=1'],
    ['https://ci.example/queue/item/7/', 'https://ci.example/queue/item/7/'],
    ['/queue/item/7/', 'https://ci.example/queue/item/7/'],
    ['item/7', 'https://ci.example/jenkins/item/7'],
    ['//evil.example/a', 'https://ci.example/a'],
  ])('%s', (value, expected) => {
    expect(rebase(value, 'https://ci.example/jenkins/')).toBe(expected)
    expect(
      responseUrl(rebase(value, 'https://ci.example/jenkins/'), {
        base: 'https://ci.example',
        elsewhere: 'refuse',
        template: 't',
      }).credentials,
    ).toBe(true)
  })

  it.each([[undefined], [''], ['file:///etc/passwd'], ['https://u:p@h/'], ['https://h/\n']])('refuses %j', (value) => {
    expect(() => rebase(value, 'https://ci.example')).toThrow(UpstreamError)
  })
})
