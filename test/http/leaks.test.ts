import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { client, faultOf, json, serve } from './support.js'

const SECRET = 'Sup3rSecretToken'

describe('secrets', () => {
  it.each([
    ['a status', (res: ServerResponse) => json(res, 403, { error: `bad token ${SECRET}`, [SECRET]: [SECRET] })],
    ['a text', (res: ServerResponse) => res.writeHead(400).end(`bad token ${encodeURIComponent(SECRET)}`)],
    ['a redirect', (res: ServerResponse) => res.writeHead(302, { location: `/login/${SECRET}` }).end()],
    [
      'a web page',
      (res: ServerResponse) =>
        res.writeHead(200, { 'content-type': 'text/html' }).end(`<html><title>${SECRET}</title>`),
    ],
    [
      'broken JSON',
      (res: ServerResponse) => res.writeHead(200, { 'content-type': 'application/json' }).end(`{"a": ${SECRET}`),
    ],
    ['a closed connection', (res: ServerResponse) => res.destroy()],
    ['silence', () => {}],
  ])('are nowhere in the error of %s, however it is printed', async (_name, answer) => {
    const { baseUrl } = await serve((_hit, res) => void answer(res))
    const { fault, core } = client(baseUrl, { retries: 0 })
    for (const authorization of [`Bearer ${SECRET}`, () => `Bearer ${SECRET}`]) {
      const error = await fault('x', { method: 'POST', json: {}, headers: { authorization } }, 300)
      const shown = [
        inspect(error, { depth: 20, showHidden: true, getters: true }),
        JSON.stringify(error),
        String(error),
        error.stack,
      ]
      expect(shown.join('\n')).not.toContain(SECRET)
    }
    expect(core.redact(`log says ${SECRET}`)).toBe('log says [redacted]')
  })

  it('in a query or a form are known too', async () => {
    const { baseUrl } = await serve((hit, res) => json(res, 400, { message: `bad ${hit.url} ${hit.body}` }))
    const { bind, at } = client(baseUrl)
    const get = await faultOf(bind().send({ url: at('x', { api_key: SECRET }) }))
    expect(get.detail).toBe('bad /x?api_key=[redacted]')
    const post = await faultOf(bind().send({ url: at('x'), method: 'POST', form: { token: `${SECRET}+2` } }))
    expect(post.detail).toBe('bad /x token=[redacted]')
  })
})
