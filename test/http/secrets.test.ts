import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor, REDACTED } from '../../src/http/index.js'

describe('what is learned', () => {
  const secret = 'S3cr3t-Value/+="x"'

  it.each([
    ['the whole of any header that a function gives', 'x-custom', secret, true, secret],
    ['a bearer token', 'authorization', `Bearer ${secret}`, false, secret],
    ['a GitLab-like token header', 'private-token', secret, false, secret],
    ['an API key', 'x-api-key', secret, false, secret],
    ['a key under another name', 'Ocp-Apim-Subscription-Key', secret, false, secret],
    ['a secret header', 'x-hub-secret', secret, false, secret],
    ['Token token="..."', 'authorization', 'Token token="abc123def456"', false, 'abc123def456'],
    ['a signature', 'authorization', 'Signature keyId="k",signature="QUJDREVG"', false, 'QUJDREVG'],
    [
      'a basic password',
      'authorization',
      `Basic ${Buffer.from('ann:hunter22!').toString('base64')}`,
      false,
      'hunter22!',
    ],
    [
      'a basic password with a colon',
      'authorization',
      `Basic ${Buffer.from('ann:a:b:c:d').toString('base64')}`,
      false,
      'a:b:c:d',
    ],
    [
      'the encoded basic pair',
      'authorization',
      `Basic ${Buffer.from('ann:hunter22!').toString('base64')}`,
      false,
      Buffer.from('ann:hunter22!').toString('base64'),
    ],
    ['a cookie', 'cookie', 'session=abcdef123456; theme=dark', false, 'abcdef123456'],
  ])('%s', (_name, name, value, fromFunction, gone) => {
    const redactor = createRedactor()
    redactor.learnHeader(name, value, fromFunction)
    expect(redactor.redact(`before ${gone} after`)).toBe(`before ${REDACTED} after`)
  })

  it.each([
    ['accept', 'application/json', true],
    ['content-type', 'application/json', true],
    ['user-agent', 'my-tools/1.0', true],
    ['idempotency-key', 'job-1234567', false],
    ['x-idempotency-key', 'job-1234567', true],
    ['x-request-id', 'request-1', true],
    ['x-github-api-version', '2022-11-28', true],
    ['prefer', 'respond-async', true],
    ['x-tenant', 'acme-corp', false],
    ['x-author', 'ann.smith', false],
    ['x-api-key', 'short', false],
  ])('not %s: %s', (name, value, fromFunction) => {
    const redactor = createRedactor()
    redactor.learnHeader(name, value, fromFunction)
    expect(redactor.redact(`before ${value} after`)).toBe(`before ${value} after`)
  })

  it.each([
    ['?api_key=abcdef123&x=1', 'abcdef123'],
    ['?private_token=a%2Fbcdef', 'a/bcdef'],
    ['token=abc+def1', 'abc def1'],
    ['client_secret=abcdef123', 'abcdef123'],
    ['password=hunter22', 'hunter22'],
  ])('the credentials in the query or form %s', (query, gone) => {
    const redactor = createRedactor()
    redactor.learnQuery(query)
    expect(redactor.redact(`before ${gone} after`)).toBe(`before ${REDACTED} after`)
  })

  it.each([
    ['?X-Amz-Signature=abcdef123'],
    ['?key=PROJECT-12'],
    ['?author=ann.smith'],
    ['?design=blueprint'],
    ['?tokens=1000000'],
  ])('nothing else of a query: %s', (query) => {
    const redactor = createRedactor()
    redactor.learnQuery(query)
    const value = query.slice(query.indexOf('=') + 1)
    expect(redactor.redact(value)).toBe(value)
  })

  it('finds a secret in every spelling', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 6, maxLength: 40 }), (value) => {
        fc.pre(value.trim() === value)
        const redactor = createRedactor()
        redactor.learn(value)
        const spellings = [
          value,
          encodeURIComponent(value),
          new URLSearchParams({ q: value }).toString().slice(2),
          JSON.stringify({ v: value }),
          Buffer.from(value).toString('base64'),
          Buffer.from(value).toString('base64url'),
        ]
        for (const text of spellings) {
          expect(redactor.redact(`<<${text}>>`)).toContain(REDACTED)
          expect(redactor.redact(`<<$text>>`)).not.toContain(value)
        }
      }),
    )
  })

  it('leaves nothing of the longer of two secrets that share a part', () => {
    const redactor = createRedactor()
    redactor.learn('abcdef')
    redactor.learn('abcdef-ghijkl')
    expect(redactor.redact('x abcdef-ghijkl y abcdef z')).toBe(`x ${REDACTED} y ${REDACTED} z`)
  })

  it('forgets the value that was used longest ago, never one in use', () => {
    const redactor = createRedactor(3)
    redactor.learn('static-token')
    for (let n = 0; n < 50; n += 1) {
      redactor.learn(`rotated-${n}-x`)
      redactor.learn('static-token')
    }
    expect(redactor.redact('static-token rotated-49-x rotated-48-x')).toBe(`${REDACTED} ${REDACTED} ${REDACTED}`)
    expect(redactor.redact('rotated-0-x')).toBe('rotated-0-x')
  })
})

describe('what is known by its shape', () => {
  const fake = (text: string, times: number) => text.repeat(times)

  it.each([
    ['GitHub', `ghp_${fake('A', 36)}`],
    ['GitHub, short', 'ghp_AAAAAA'],
    ['GitHub app', `ghs_${fake('a1', 18)}`],
    ['GitHub, fine-grained', `github_pat_${fake('1A', 11)}_${fake('b', 59)}`],
    ['GitLab', `glpat-${fake('x1', 10)}`],
    ['OpenAI', `sk-${fake('aB3', 16)}`],
    ['OpenAI project', `sk-proj-${fake('aB3-_', 8)}`],
    ['Stripe', `sk_live_${fake('1a', 12)}`],
    ['Hugging Face', `hf_${fake('aB', 17)}`],
    ['npm', `npm_${fake('aB', 18)}`],
    ['Slack', `xoxb-${fake('1', 12)}-${fake('a', 12)}`],
    ['Google', `AIza${fake('a', 35)}`],
    ['AWS', `AKIA${fake('A1', 8)}`],
    ['a JWT', `eyJ${fake('a', 20)}.eyJ${fake('b', 20)}.${fake('c-', 10)}`],
    ['a private key', `-----BEGIN RSA PRIVATE KEY-----\n${fake('abc/+=\n', 9)}-----END RSA PRIVATE KEY-----`],
    ['a private key that is cut off', `-----BEGIN PRIVATE KEY-----\n${fake('abc/+=\n', 9)}`],
  ])('%s', (_name, token) => {
    const { redact } = createRedactor()
    expect(redact(`token: "${token}`)).toBe(`token: "${REDACTED}`)
    expect(redact(token)).toBe(REDACTED)
  })

  it.each([
    ['Authorization: Bearer abc123def', `Authorization: Bearer ${REDACTED}`],
    [`bearer ${'x'.repeat(24)}`, `bearer ${REDACTED}`],
    ['Basic YW5uOmh1bnRlcjI=', `Basic ${REDACTED}`],
    ['https://ann:hunter22@git.example/x', `https://ann:${REDACTED}@git.example/x`],
    ['/jobs?private_token=abcdef123&x=1', `/jobs?private_token=${REDACTED}&x=1`],
    ['client_secret=abcdef123', `client_secret=${REDACTED}`],
  ])('%s', (text, expected) => {
    expect(createRedactor().redact(text)).toBe(expected)
  })

  it.each([
    ['Basic authentication is required'],
    ['Bearer authentication failed'],
    ['the token expired'],
    ['ran task-1234567890-1234567890-123'],
    ['see https://ci.example/job/a:b/1?x=@y'],
    ['sk-learn and scikit-learn'],
    ['disk-usage-of-all-the-nodes-2024-01-01-cluster'],
    ['signed https://s3.example/x?X-Amz-Signature=abcdef123456'],
  ])('leaves ordinary text alone: %s', (text) => {
    expect(createRedactor().redact(text)).toBe(text)
  })

  it.each([
    ['eyJ'],
    ['eyJ-'],
    ['sk-'],
    ['bearer '],
    ['://'],
    ['://a:'],
    ['-----BEGIN PRIVATE KEY-----'],
    ['api_key='],
    ['glpat-'],
  ])('takes linear time on a megabyte of %j', (unit) => {
    expect(createRedactor().redact(unit.repeat(1_000_000 / unit.length)).length).toBeGreaterThan(0)
  })
})
