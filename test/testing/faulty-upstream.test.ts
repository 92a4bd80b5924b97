import { request as rawRequest } from 'node:http'
import { type FaultyUpstream, type FaultyUpstreamOptions, faultyUpstream } from 'mcp-job-tools/testing'
import { afterEach, describe, expect, it } from 'vitest'

const open: FaultyUpstream[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((up) => up.close()))
})

async function upstream(options?: FaultyUpstreamOptions): Promise<FaultyUpstream> {
  const up = await faultyUpstream(options)
  open.push(up)
  return up
}

async function send(up: FaultyUpstream, method: string, path: string, body?: unknown) {
  const response = await fetch(up.url + path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: 'manual',
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type') === 'application/json'
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
}

const get = async (up: FaultyUpstream, id = '1') => send(up, 'GET', `/jobs/${id}`)

/** The pieces of a body as they arrive, before anything is decompressed. */
function pieces(url: string): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const seen: Buffer[] = []
    rawRequest(url, (response) => {
      response.on('data', (chunk: Buffer) => void seen.push(chunk))
      response.on('end', () => resolve(seen))
    })
      .on('error', reject)
      .end()
  })
}

async function withJob(options?: FaultyUpstreamOptions): Promise<FaultyUpstream> {
  const up = await upstream(options)
  await send(up, 'POST', '/jobs', { scene: 'sea', key: 'k1' })
  return up
}

describe('an upstream without a script', () => {
  it('leads a job from its creation to its result', async () => {
    const up = await upstream()
    expect(await send(up, 'POST', '/jobs', { scene: 'sea' })).toMatchObject({ status: 201, body: { id: '1' } })
    expect((await get(up)).body).toEqual({ id: '1', status: 'running' })
    up.setState('1', { status: 'waiting', questions: [{ key: 'go' }] })
    expect((await get(up)).body).toMatchObject({ status: 'waiting', questions: [{ key: 'go' }] })
    await send(up, 'POST', '/jobs/1/answer', { yes: true })
    expect((await get(up)).body).toMatchObject({ status: 'running', questions: [], answered: { yes: true } })
    up.finish('1', { output: 'the film' })
    expect((await get(up)).body).toMatchObject({ status: 'done' })
    expect((await send(up, 'GET', '/jobs/1/result')).body).toEqual({ output: 'the film' })
  })

  it('cancels a running job, and leaves an ended one as it is', async () => {
    const up = await withJob()
    await send(up, 'POST', '/jobs/1/cancel')
    expect((await get(up)).body).toMatchObject({ status: 'cancelled' })
    up.finish('1', { status: 'error' })
    await send(up, 'POST', '/jobs/1/cancel')
    expect((await get(up)).body).toMatchObject({ status: 'error' })
  })

  it('finds a job by its key, and says when there is none', async () => {
    const up = await withJob()
    expect((await send(up, 'GET', '/jobs?key=k1')).body).toEqual({ jobs: [{ id: '1' }] })
    expect((await send(up, 'GET', '/jobs?key=k2')).body).toEqual({ jobs: [] })
  })

  it('knows no other jobs and paths', async () => {
    const up = await withJob()
    expect((await get(up, '2')).status).toBe(404)
    expect((await send(up, 'GET', '/elsewhere')).status).toBe(404)
    up.forget('1')
    expect((await get(up)).status).toBe(404)
    expect(() => up.setState('1', {})).toThrow('there is no job 1')
  })

  it('reads requests back and counts them', async () => {
    const up = await withJob()
    await get(up)
    await get(up, '2')
    expect(up.requests[0]).toMatchObject({ method: 'POST', path: '/jobs', body: { scene: 'sea', key: 'k1' } })
    expect(up.requests[0]?.headers.host).toBe(new URL(up.url).host)
    expect([up.count('GET', '/jobs/*'), up.count('GET', '/jobs/2'), up.count('GET', '/jobs')]).toEqual([2, 1, 0])
  })

  it('names jobs as it is told, and asks for its token', async () => {
    const up = await upstream({ id: (n) => `9007199254740993-${n}`, token: 'secret' })
    expect((await send(up, 'POST', '/jobs', {})).status).toBe(401)
    const made = await fetch(`${up.url}/jobs`, { method: 'POST', headers: { authorization: 'Bearer secret' } })
    expect(await made.json()).toEqual({ id: '9007199254740993-1' })
    expect(up.count('POST', '/jobs')).toBe(2)
  })
})

describe('a script', () => {
  it('gives its answers one by one, and keeps the last', async () => {
    const up = await withJob()
    up.script.get = [{ status: 'queued' }, { status: 503 }, () => ({ body: 'from a function' })]
    expect((await get(up)).body).toEqual({ status: 'queued' })
    expect((await get(up)).status).toBe(503)
    expect((await get(up)).text).toBe('from a function')
    expect((await get(up)).text).toBe('from a function')
    up.script.get = []
    expect((await get(up)).body).toMatchObject({ status: 'running' })
  })

  it('for one job goes before the one for all', async () => {
    const up = await withJob()
    await send(up, 'POST', '/jobs', {})
    up.script.get = [{ status: 429 }]
    up.scriptFor('2').get.push({ status: 500 })
    expect([(await get(up)).status, (await get(up, '2')).status]).toEqual([429, 500])
  })

  it('takes any JSON value for an answer, and refuses what is half an instruction', async () => {
    const up = await withJob()
    up.script.get = [['a', 1], null, { status: 'odd', headers: 3 }, { status: 404, message: 'no' }]
    expect((await get(up)).body).toEqual(['a', 1])
    expect((await get(up)).body).toBe(null)
    expect((await get(up)).body).toEqual({ status: 'odd', headers: 3 })
    expect(await get(up)).toMatchObject({ status: 500, text: expect.stringContaining('put the JSON in `body`') })
  })

  it('delays, redirects and adds headers', async () => {
    const up = await withJob()
    up.script.get = [{ delayMs: 5 }, { redirect: '/elsewhere' }, { headers: { 'retry-after': '7' } }]
    expect((await get(up)).body).toMatchObject({ status: 'running' })
    expect(await get(up)).toMatchObject({ status: 302 })
    const third = await get(up)
    expect([third.headers.get('retry-after'), third.body.status]).toEqual(['7', 'running'])
  })

  it.each(['before', 'headers', 'body'] as const)('cuts the connection: %s', async (cut) => {
    const up = await withJob()
    up.script.get = [{ cut }]
    await expect(get(up)).rejects.toThrow()
    up.script.get = []
    expect((await get(up)).status).toBe(200)
  })

  it('hangs until the upstream closes', async () => {
    const up = await withJob()
    up.script.get = [{ hang: true }]
    let ended = false
    const asked = get(up).catch(() => {
      ended = true
    })
    await up.waitFor(() => up.count('GET', '/jobs/1') === 1)
    await send(up, 'GET', '/jobs/1/result')
    expect(ended).toBe(false)
    await up.close()
    await asked
    expect(ended).toBe(true)
  })

  it('sends bytes that are no HTTP', async () => {
    const up = await withJob()
    up.script.get = [{ raw: 'SSH-2.0-OpenSSH_9.2\r\n' }]
    await expect(get(up)).rejects.toThrow()
  })

  it('drips its body', async () => {
    const up = await withJob()
    up.script.get = [{ drip: { everyMs: 1, bytes: 4 } }]
    expect((await pieces(`${up.url}/jobs/1`)).length).toBeGreaterThan(1)
  })

  it('sends a body that is far larger than its bytes', async () => {
    const up = await withJob()
    up.script.get = [{ gzipBomb: 5_000_000 }]
    const { text } = await get(up)
    expect(text).toHaveLength(5_000_000)
    expect(JSON.parse(text)).toEqual({})
    up.script.get = [{ gzipBomb: 5_000_000 }]
    expect(Buffer.concat(await pieces(`${up.url}/jobs/1`)).length).toBeLessThan(10_000)
  })
})

describe('whether an operation happens', () => {
  const cases = [
    ['its own answer', {}, true],
    ['a slow answer', { delayMs: 1 }, true],
    ['another 2xx', { status: 202 }, true],
    ['a refusal', { status: 422 }, false],
    ['a lost request', { cut: 'before' }, false],
    ['a lost answer', { cut: 'before', takesEffect: true }, true],
    ['a redirect', { redirect: '/elsewhere' }, false],
  ] as const
  it.each(cases)('a create with %s', async (_, answer, made) => {
    const up = await upstream()
    up.script.create = [answer]
    await send(up, 'POST', '/jobs', {}).catch(() => undefined)
    expect(up.jobs.size).toBe(made ? 1 : 0)
  })

  it.each([
    ['a refused cancel', { status: 409 }, 'running'],
    ['a lost cancel', { cut: 'before' }, 'running'],
    ['a cancel whose answer is lost', { cut: 'body', takesEffect: true }, 'cancelled'],
    ['a cancel with another status that counts', { status: 202, takesEffect: true }, 'cancelled'],
  ] as const)('%s', async (_, answer, status) => {
    const up = await withJob()
    up.script.cancel = [answer]
    await send(up, 'POST', '/jobs/1/cancel').catch(() => undefined)
    expect(up.jobs.get('1')?.state.status).toBe(status)
  })
})

describe('waitFor', () => {
  it('sees a request, its effect, and a change by the test', async () => {
    const up = await upstream()
    const asked = up.waitFor(() => up.count('POST', '/jobs') === 1)
    const made = up.waitFor(() => up.jobs.has('1'))
    await send(up, 'POST', '/jobs', {})
    await Promise.all([asked, made])
    const ended = up.waitFor(({ jobs }) => jobs.get('1')?.state.status === 'done')
    up.finish('1')
    await ended
  })

  it('fails when the upstream closes first, or the predicate throws', async () => {
    const up = await upstream()
    const never = up.waitFor(() => false)
    const mistaken = up.waitFor(() => {
      throw new Error('a mistake')
    })
    await expect(mistaken).rejects.toThrow('a mistake')
    await Promise.all([up.close(), expect(never).rejects.toThrow('was closed')])
    await expect(up.waitFor(() => true)).rejects.toThrow('was closed')
  })
})
