import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { client, deadBase, faultOf, json, serve, serveRaw } from './support.js'

type Answer = (res: ServerResponse) => unknown
const ok: Answer = (res) => json(res, 200, { ok: true })
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (res) =>
    json(res, code, { message: 'no' }, headers)
const page: Answer = (res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
const cut: Answer = (res) => {
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': '50' })
  res.write('{', () => res.destroy())
}
const hangUp: Answer = (res) => res.destroy()

/** A server that gives its answers in order, and the last one for ever. */
async function inOrder(...answers: Answer[]) {
  const { baseUrl, hits } = await serve((_hit, res) => answers[Math.min(hits.length, answers.length) - 1]?.(res))
  return { ...client(baseUrl), hits }
}

describe('a GET', () => {
  it.each([
    ['408', status(408)],
    ['425', status(425)],
    ['500', status(500)],
    ['502', status(502)],
    ['503', status(503)],
    ['504', status(504)],
    ['a web page', page],
    ['a body that was cut off', cut],
    ['a closed connection', hangUp],
    ['503 with a short wait', status(503, { 'retry-after': '0' })],
  ])('is sent again after %s', async (_name, answer) => {
    const { send, hits } = await inOrder(answer, ok)
    expect((await send('x')).body).toEqual({ ok: true })
    expect(hits).toHaveLength(2)
  })

  it('is sent three times at most', async () => {
    const { fault, hits } = await inOrder(status(503), hangUp, status(500), ok)
    expect((await fault('x')).status).toBe(500)
    expect(hits).toHaveLength(3)
  })

  it.each([
    ['400', status(400)],
    ['404', status(404)],
    ['409', status(409)],
    ['410', status(410)],
    ['302', status(302, { location: '/y' })],
    ['401', status(401)],
    ['403', status(403)],
    ['429', status(429)],
    ['429 with a short wait', status(429, { 'retry-after': '0' })],
    ['a wait that does not fit', status(503, { 'retry-after': '3' })],
    ['a wait of ages', status(503, { 'retry-after': '999999999' })],
  ])('is not sent again after %s', async (_name, answer) => {
    const { fault, hits } = await inOrder(answer, ok)
    await fault('x')
    expect(hits).toHaveLength(1)
  })

  it('is not sent again when little time is left', async () => {
    const { fault, hits } = await inOrder(status(503), ok)
    expect((await fault('x', {}, 150)).status).toBe(503)
    expect(hits).toHaveLength(1)
  })

  it('is not sent again after a timeout, which has used up the time', async () => {
    const { fault, hits } = await inOrder(() => {}, ok)
    expect((await fault('x', { timeoutMs: 50 }, 5_000)).fault).toBe('timeout')
    expect(hits).toHaveLength(1)
  })

  it('is not sent again once the operation is stopped', async () => {
    const { bind, at, hits } = await inOrder(status(503), ok)
    const controller = new AbortController()
    const sent = bind(60_000, controller.signal).send({ url: at('x') })
    const watch = setInterval(() => {
      if (hits.length === 1) controller.abort()
    }, 5)
    const error = await faultOf(sent)
    clearInterval(watch)
    expect(error.fault).toBe('timeout')
    expect(hits).toHaveLength(1)
  })

  it('that never gets through tells what the last try met', async () => {
    const error = await client(await deadBase()).fault('x')
    expect(error.message).toContain('could not be reached (ECONNREFUSED)')
  })

  it('is sent once where retries are switched off', async () => {
    const { baseUrl, hits } = await serve((_hit, res) => void status(503)(res))
    await client(baseUrl, { retries: 0 }).fault('x')
    expect(hits).toHaveLength(1)
  })

  it('gets past a kept connection that the other side has closed meanwhile', async () => {
    let connections = 0
    const { baseUrl } = await serveRaw((socket, head) => {
      if (socket.bytesWritten > 0) {
        socket.resetAndDestroy()
        return
      }
      connections += 1
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${head.startsWith('GET') ? 'ok' : 'no'}`)
    })
    const { send } = client(baseUrl)
    expect((await send('x')).text).toBe('ok')
    expect((await send('x')).text).toBe('ok')
    expect(connections).toBe(2)
  })

  it('as HEAD is sent again too', async () => {
    const { send, hits } = await inOrder(status(503), (res) => res.writeHead(200).end())
    await send('x', { method: 'HEAD' })
    expect(hits).toHaveLength(2)
  })
})

describe('everything else is sent once', () => {
  const answers: [string, Answer][] = [
    ['408', status(408)],
    ['429', status(429)],
    ['500', status(500)],
    ['503 with a short wait', status(503, { 'retry-after': '0' })],
    ['a web page', page],
    ['a body that was cut off', cut],
    ['a closed connection', hangUp],
  ]
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'post', 'OPTIONS', 'QUERY']) {
    it.each(answers)(`${method} after %s`, async (_name, answer) => {
      const { fault, hits } = await inOrder(answer, ok)
      await fault('x', { method, body: '' })
      await new Promise((resolve) => setImmediate(resolve))
      expect(hits).toHaveLength(1)
    })
  }
})

describe('hints', () => {
  it('tell what the answers of one operation said, faults too', async () => {
    const { bind, at } = await inOrder(
      (res) => json(res, 200, {}, { 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': '60' }),
      (res) => json(res, 202, {}, { 'retry-after': '15', 'x-ratelimit-remaining': '8', 'x-ratelimit-reset': '59' }),
      status(429, { 'retry-after': '30' }),
    )
    const http = bind()
    expect(http.hints()).toEqual({})
    await http.send({ url: at('x') })
    expect(http.hints()).toMatchObject({ rateRemaining: 9, rateResetMs: 60_000 })
    await http.send({ url: at('x') })
    expect(http.hints()).toMatchObject({ retryAfterMs: 15_000, rateRemaining: 8, rateResetMs: 59_000 })
    await faultOf(http.send({ url: at('x') }))
    expect(http.hints()).toMatchObject({ retryAfterMs: 30_000, rateRemaining: 8 })
    expect(bind().hints()).toEqual({})
  })

  it('of a fault are void once the same request succeeds', async () => {
    const { bind, at } = await inOrder(status(503, { 'retry-after': '0.3' }), ok)
    const http = bind()
    await http.send({ url: at('x') })
    expect(http.hints().retryAfterMs).toBeUndefined()
  })

  it('judge dates by the clock of the upstream, or else by the injected one', async () => {
    const { baseUrl } = await serve((hit, res) => {
      res.sendDate = false
      const date: Record<string, string> = hit.url === '/dated' ? { date: 'Wed, 02 Dec 2026 00:00:00 GMT' } : {}
      json(res, 202, {}, { 'retry-after': 'Wed, 02 Dec 2026 00:00:30 GMT', ...date })
    })
    const { bind, at } = client(baseUrl, { now: () => Date.UTC(2026, 11, 2, 0, 0, 20) })
    const dated = bind()
    await dated.send({ url: at('dated') })
    expect(dated.hints().retryAfterMs).toBe(30_000)
    const undated = bind()
    await undated.send({ url: at('undated') })
    expect(undated.hints().retryAfterMs).toBe(10_000)
  })
})
