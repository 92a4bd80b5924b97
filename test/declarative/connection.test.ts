import { afterEach, describe, expect, it } from 'vitest'
import { compileBaseUrl, compileHeaders, readEnv, renderHeaders } from '../../src/declarative/connection.js'

const NAME = 'CONNECTION_TEST_TOKEN'
afterEach(() => {
  delete process.env[NAME]
})

describe('headers', () => {
  it('give one function for all requests where only the environment has a part in them', () => {
    process.env[NAME] = 't-1'
    const own = () => 'x'
    const headers = compileHeaders({ a: `Bearer {env.${NAME}}`, b: own, c: `{key} {env.${NAME}}` })
    const [one, other] = [renderHeaders(headers, { key: 'k' }), renderHeaders(headers, { key: 'k' })]
    expect(one.a).toBeTypeOf('function')
    expect(one.a).toBe(other.a)
    expect(one.b).toBe(own)
    expect(one.c).not.toBe(other.c)
  })
  const rows: [string, unknown, unknown][] = [
    ['plain', {}, 'plain'],
    ['{input.n}', { input: { n: 7 } }, '7'],
    ['{input.o}', { input: { o: { a: 1 } } }, '{"a":1}'],
    ['{input.n} of {input.m}', { input: { n: 0, m: false } }, '0 of false'],
    ['{input.missing}', { input: {} }, undefined],
    ['{input.none}', { input: { none: null } }, undefined],
    ['{{input.n}}', { input: { n: 7 } }, '{input.n}'],
    ['{input.constructor}', { input: {} }, undefined],
    ['caf\u00e9\t1', {}, 'caf\u00e9\t1'],
  ]
  it.each(rows)('%s with %j is %j', (value, scope, filled) => {
    expect(renderHeaders(compileHeaders({ 'X-Name': value }), scope as object)).toEqual({ 'x-name': filled })
  })
})

describe('the environment', () => {
  it.each([undefined, ''])('must be set: %j', (value) => {
    if (value !== undefined) process.env[NAME] = value
    expect(() => readEnv([NAME])).toThrow(`environment variable ${NAME}: is not set. Set it where this server runs.`)
  })
  it('may hold a part of the base URL', () => {
    process.env[NAME] = 'farm.example'
    expect(compileBaseUrl(`https://{env.${NAME}}/api`)()).toBe('https://farm.example/api')
  })
  it.each(['', '://', 'farm.example?x', 'a:b@farm.example'])('must not make %j of it', (value) => {
    process.env[NAME] = value
    expect(compileBaseUrl(`https://{env.${NAME}}/api`)).toThrow(/environment|baseUrl/)
  })
})
