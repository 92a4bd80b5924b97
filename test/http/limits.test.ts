import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { client, deadBase, faultOf, json, serve, serveRaw } from './support.js'

describe('the time limit', () => {
  it('ends a request that is never answered', async () => {
    const { baseUrl } = await serve(() => {})
    const error = await client(baseUrl).fault('x', { method: 'POST' }, 400)
    expect(error).toMatchObject({ fault: 'timeout', transient: true, noEffect: false })
    expect(error.message).toBe('POST /{} did not answer within 400 ms')
  })

  it('ends a connection that is taken but never read', async () => {
    const { baseUrl } = await serveRaw(() => {})
    expect((await client(baseUrl).fault('x', {}, 100)).fault).toBe('timeout')
  })

  it.each([
    ['stops', (write: (text: string) => void) => write('{"a":')],
    ['drips', (write: (text: string) => void) => void setInterval(() => write(' '), 10).unref()],
  ])('ends a body that %s', async (_name, body) => {
    const { baseUrl } = await serve((_hit, res) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.flushHeaders()
      body((text) => void res.write(text))
    })
    const error = await client(baseUrl).fault('x', {}, 400)
    expect(error).toMatchObject({ fault: 'timeout', status: 200, transient: true, noEffect: false })
    expect(error.message).toBe('GET /{} answered 200, but its body did not arrive within 400 ms')
  })

  it('reports the status of a failure whose body does not arrive', async () => {
    const { baseUrl } = await serve((_hit, res) => {
      res.writeHead(404, { 'content-type': 'text/plain' })
      res.write('no such job')
    })
    expect(await client(baseUrl).fault('x', {}, 400)).toMatchObject({
      fault: 'status',
      status: 404,
      detail: 'no such job',
    })
  })

  it('is the shorter one of the operation and the request, and the error names it', async () => {
    const { baseUrl } = await serve(() => {})
    const { fault } = client(baseUrl)
    expect((await fault('x', { timeoutMs: 60 }, 10_000)).message).toContain('within 60 ms')
    expect((await fault('x', { timeoutMs: 10_000 }, 60)).message).toContain('within 60 ms')
  })

  it('is one for all requests of an operation', async () => {
    const { baseUrl, hits } = await serve((hit, res) => {
      if (hit.url !== '/second') json(res, 200, {})
    })
    const { bind, at } = client(baseUrl)
    const http = bind(400)
    await http.send({ url: at('first') })
    expect((await faultOf(http.send({ url: at('second') }))).message).toContain('within 400 ms')
    const error = await faultOf(http.send({ url: at('third'), method: 'POST' }))
    expect(error).toMatchObject({ fault: 'timeout', noEffect: true })
    expect(hits.map((hit) => hit.url)).toEqual(['/first', '/second'])
  })

  it('may be longer than a timer can count', async () => {
    const { baseUrl } = await serve((_hit, res) => json(res, 200, {}))
    const { send } = client(baseUrl)
    expect((await send('x', {}, 2 ** 40)).status).toBe(200)
    expect((await send('x', { timeoutMs: Number.POSITIVE_INFINITY }, Number.POSITIVE_INFINITY)).status).toBe(200)
  })
})

describe('the signal', () => {
  it('ends a request at once', async () => {
    const { baseUrl } = await serve((_hit, _res, req) => req.socket.emit('hit'))
    const { bind, at } = client(baseUrl)
    const controller = new AbortController()
    const sent = bind(60_000, controller.signal).send({ url: at('x'), method: 'POST' })
    setTimeout(() => controller.abort(), 50)
    const error = await faultOf(sent)
    expect(error).toMatchObject({ fault: 'timeout', transient: true, noEffect: false })
    expect(error.message).toBe('POST /{} did not answer before the operation was stopped')
  })

  it('that is aborted already lets nothing be sent', async () => {
    const { baseUrl, hits } = await serve((_hit, res) => json(res, 200, {}))
    const { bind, at } = client(baseUrl)
    const error = await faultOf(bind(1_000, AbortSignal.abort()).send({ url: at('x'), method: 'POST' }))
    expect(error).toMatchObject({ fault: 'timeout', noEffect: true })
    expect(hits).toHaveLength(0)
  })

  it('collects no listeners from requests that are over', async () => {
    const { baseUrl } = await serve((_hit, res) => json(res, 200, {}))
    const { bind, at } = client(baseUrl)
    const { signal } = new AbortController()
    const count = { now: 0 }
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      count.now += 1
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      count.now -= 1
      remove(...args)
    }
    const http = bind(5_000, signal)
    for (let n = 0; n < 20; n += 1) await http.send({ url: at('x') })
    expect(count.now).toBe(0)
  })
})

describe('connections that fail', () => {
  it('before anything was sent had no effect', async () => {
    const base = await deadBase()
    const error = await client(base, { retries: 0 }).fault('x', { method: 'POST' })
    expect(error).toMatchObject({ fault: 'network', transient: true, noEffect: true })
    expect(error.message).toBe('POST /{} could not be reached (ECONNREFUSED)')
  })

  it('because the name does not exist had no effect', async () => {
    const error = await client('http://host.invalid', { retries: 0 }).fault('x', { method: 'POST' })
    expect(error).toMatchObject({ fault: 'network', transient: true, noEffect: true })
    expect(error.message).toMatch(/^POST \/\{\} could not be reached \((ENOTFOUND|EAI_AGAIN)\)$/)
  })

  it('because TLS cannot begin had no effect', async () => {
    const { baseUrl } = await serveRaw((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    const error = await client(baseUrl.replace('http:', 'https:'), { retries: 0 }).fault('x', { method: 'POST' })
    expect(error).toMatchObject({ fault: 'network', transient: true, noEffect: true })
    expect(error.message).toContain('could not be reached')
  })

  it('because TLS never begins had no effect', async () => {
    const { baseUrl } = await serveRaw(() => {})
    const error = await client(baseUrl.replace('http:', 'https:')).fault('x', { method: 'POST' }, 100)
    expect(error).toMatchObject({ fault: 'timeout', noEffect: true })
  })

  it.each([
    ['closed', (socket: Socket) => void socket.end()],
    ['reset', (socket: Socket) => void socket.resetAndDestroy()],
  ])('after the request was sent may have had an effect: %s', async (_name, fail) => {
    const { baseUrl } = await serveRaw(fail)
    const error = await client(baseUrl).fault('x', { method: 'POST' })
    expect(error).toMatchObject({ fault: 'network', transient: true, noEffect: false })
    expect(error.message).toBe('POST /{} closed the connection without an answer (ECONNRESET)')
  })

  it('on a kept connection may have had an effect', async () => {
    const { baseUrl } = await serveRaw((socket) => {
      if (socket.bytesWritten > 0) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
    const { send, fault } = client(baseUrl, { retries: 0 })
    await send('x')
    expect(await fault('x')).toMatchObject({ fault: 'network', transient: true, noEffect: false })
  })

  it('because the other side speaks no HTTP are reported so', async () => {
    const { baseUrl } = await serveRaw((socket) => void socket.write('220 mail.example ESMTP\r\n'))
    const error = await client(baseUrl).fault('x', { method: 'POST' })
    expect(error).toMatchObject({ fault: 'network', transient: true, noEffect: false })
    expect(error.message).toContain('answered with something that is no HTTP (HPE_')
  })

  it('because the other side switches protocols are reported at once, and their later errors reach nobody', async () => {
    const { baseUrl } = await serveRaw((socket) => {
      const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'
      socket.write(head, () => setTimeout(() => socket.resetAndDestroy(), 20))
    })
    const error = await client(baseUrl).fault('x', { method: 'POST' })
    expect(error).toMatchObject({ fault: 'status', status: 101, transient: false, noEffect: false })
    // An uncaught error of the socket would fail the run.
    await new Promise((resolve) => setTimeout(resolve, 60))
  })

  it.each([
    ['in the middle of a length', 'Content-Length: 100\r\n\r\n{"id":'],
    ['in the middle of chunks', 'Transfer-Encoding: chunked\r\n\r\n6\r\n{"id":\r\n'],
    ['before the body', 'Content-Length: 100\r\n\r\n'],
  ])('%s leave a body that was cut off', async (_name, rest) => {
    const { baseUrl } = await serveRaw((socket) => {
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${rest}`)
    })
    const error = await client(baseUrl).fault('x', { method: 'POST' })
    expect(error).toMatchObject({ fault: 'body', status: 200, transient: true, noEffect: false })
    expect(error.message).toContain('answered 200 with a body that was cut off')
  })
})

describe('an answer that is whole', () => {
  const whole = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"id":5}'
  const chunked =
    'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"id":5}\r\n0\r\n\r\n'
  const closing = whole.replace('Content-Type', 'Connection: close\r\nContent-Type')

  it.each([
    ['stray bytes', whole, 'garbage\r\n\r\n'],
    ['stray bytes after chunks', chunked, 'garbage\r\n\r\n'],
    ['stray bytes after "connection: close"', closing, 'garbage\r\n\r\n'],
    ['a second answer', whole, whole],
    ['line feeds', whole, '\r\n\r\n'],
    ['zero bytes', whole, '\0\0\0'],
  ])('counts, whatever follows it: %s', async (_name, answer, stray) => {
    let received = 0
    const { baseUrl } = await serveRaw((socket) => {
      received += 1
      socket.write(answer + stray)
    })
    const { send } = client(baseUrl, { retries: 0 })
    expect((await send('x', { method: 'POST', json: {} })).body).toEqual({ id: 5 })
    expect((await send('x')).body).toEqual({ id: 5 })
    expect(received).toBe(2)
  })

  it('counts though the connection is reset behind it', async () => {
    const { baseUrl } = await serveRaw((socket) => {
      socket.write(whole, () => setImmediate(() => socket.resetAndDestroy()))
    })
    const { send } = client(baseUrl, { retries: 0 })
    for (let n = 0; n < 10; n += 1) expect((await send('x', { method: 'POST' })).body).toEqual({ id: 5 })
  })

  it('counts though the parser fails before the body was read, also when it is compressed', async () => {
    const packed = gzipSync(JSON.stringify({ id: 5, pad: 'x'.repeat(100_000) }))
    const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`
    const { baseUrl } = await serveRaw((socket) => {
      socket.write(Buffer.concat([Buffer.from(head), packed, Buffer.from('garbage\r\n\r\n')]))
    })
    expect((await client(baseUrl, { retries: 0 }).send('x', { method: 'POST' })).body).toMatchObject({ id: 5 })
  })

  it('may end with the connection where no length is given', async () => {
    const { baseUrl } = await serveRaw((socket) => {
      socket.end('HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{"id":5}')
    })
    expect((await client(baseUrl).send('x')).body).toEqual({ id: 5 })
  })
})

describe('close', () => {
  it('drops idle connections and lets a request in flight end', async () => {
    let arrived = (_res: ServerResponse) => {}
    const slowAnswer = new Promise<ServerResponse>((resolve) => {
      arrived = resolve
    })
    const { baseUrl, connections } = await serve((hit, res) => {
      if (hit.url === '/slow') arrived(res)
      else json(res, 200, {})
    })
    const { core, send } = client(baseUrl)
    await send('x')
    const slow = send('slow')
    const res = await slowAnswer
    core.close()
    json(res, 201, { id: 1 })
    expect((await slow).status).toBe(201)
    expect(connections()).toBe(1)
    await send('x')
    expect(connections()).toBe(2)
  })
})
