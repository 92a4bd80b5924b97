import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UpstreamError } from '../../src/errors/index.js'
import { client, serveRaw } from './support.js'

// An error event that nobody listens to ends the process; vitest would report it, but without saying where it came from.
const uncaught: unknown[] = []
const note = (error: unknown) => uncaught.push(error)
beforeAll(() => {
  process.on('uncaughtException', note)
  process.on('unhandledRejection', note)
})
afterAll(() => {
  process.off('uncaughtException', note)
  process.off('unhandledRejection', note)
})

const heads = [
  'HTTP/1.1 200 OK',
  'HTTP/1.0 200 OK',
  'HTTP/1.1 503 Gone fishing',
  'HTTP/1.1 404',
  'HTTP/1.1 304 Not Modified',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 302 Found\r\nLocation: /x',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK',
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade',
  'HTTP/9.9 999 ?',
  'ICY 200 OK',
]
const headers = [
  'Content-Type: application/json',
  'Content-Type: text/html; charset=klingon',
  'Content-Length: 8',
  'Content-Length: 800',
  'Content-Length: -1',
  'Transfer-Encoding: chunked',
  'Content-Encoding: gzip',
  'Content-Encoding: br',
  'Content-Encoding: nonsense',
  'Connection: close',
  'ETag: "a"',
  'Retry-After: soon',
  'X-Ratelimit-Remaining: \u0001',
  'Set-Cookie: a=1',
  '__proto__: x',
  `X-Long: ${'x'.repeat(20_000)}`,
]
const packed = gzipSync('{"id":5}')
const bodies = [
  Buffer.from('{"id":5}'),
  Buffer.from('8\r\n{"id":5}\r\n0\r\n\r\n'),
  Buffer.from('8\r\n{"id":5}\r\n'),
  Buffer.from('zz\r\n'),
  packed,
  packed.subarray(0, 12),
  Buffer.concat([packed, Buffer.from('stray')]),
  Buffer.from('<html>'),
  Buffer.from([0xff, 0xfe, 0x00]),
  Buffer.alloc(0),
]

describe('whatever a server sends', () => {
  it('becomes an answer or an upstream error in time, and nothing escapes', async () => {
    let next: { bytes: Buffer; end: number } = { bytes: Buffer.alloc(0), end: 0 }
    const { baseUrl } = await serveRaw((socket) => {
      const { bytes, end } = next
      socket.write(bytes, () => {
        if (end === 1) socket.end()
        if (end === 2) socket.resetAndDestroy()
      })
    })
    const { bind, at } = client(baseUrl, { retries: 0 })
    const answer = fc.record({
      head: fc.constantFrom(...heads),
      fields: fc.subarray(headers, { maxLength: 4 }),
      body: fc.constantFrom(...bodies),
      cutAt: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 1, noNaN: true })),
      end: fc.constantFrom(0, 1, 2),
      method: fc.constantFrom('GET', 'POST', 'HEAD'),
    })
    await fc.assert(
      fc.asyncProperty(answer, async ({ head, fields, body, cutAt, end, method }) => {
        const whole = Buffer.concat([Buffer.from(`${[head, ...fields].join('\r\n')}\r\n\r\n`, 'latin1'), body])
        next = { bytes: whole.subarray(0, Math.ceil(whole.length * cutAt)), end }
        try {
          const { status } = await bind(60).send({ url: at('x'), method })
          expect(status >= 200 && status < 300).toBe(true)
        } catch (error) {
          if (!UpstreamError.isInstance(error)) throw error
          expect(error.message).toMatch(new RegExp(`^${method} /\\{\\} `))
          // Who answered has got the request: only a refusing status, or time that ran out before, may claim no effect.
          if (error.noEffect) expect(['status', 'timeout']).toContain(error.fault)
        }
        expect(uncaught).toEqual([])
      }),
      { numRuns: 400, interruptAfterTimeLimit: 15_000 },
    )
  })
})
