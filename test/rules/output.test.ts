import { defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { FailingStore } from '../support/failing-store.js'
import { usualJob, type WorldOptions, world } from '../support/world.js'

async function ended(state: Record<string, unknown>, options: WorldOptions = {}) {
  const w = await world(options)
  const taskId = await w.start()
  w.up.setState('1', { status: 'done', ...state })
  return { w, taskId, ...(await w.get(taskId)) }
}
const withOutput = (output: z.ZodType) => (url: string) => [
  defineJobTool({
    name: 'render',
    input: z.object({ scene: z.string().default('a') }),
    output: output as never,
    job: httpJob(usualJob(url)),
  }),
]

describe('a result', () => {
  it('gives structure as structuredContent, and as text for those who read text', async () => {
    const { result } = await ended({ output: { url: 'https://cdn.example/1' } })
    expect(result.result).toMatchObject({
      structuredContent: { url: 'https://cdn.example/1' },
      content: [{ type: 'text', text: '{"url":"https://cdn.example/1"}' }],
    })
  })
  it('is checked against the declared output', async () => {
    const good = await ended({ output: { url: 'x' } }, { tools: withOutput(z.object({ url: z.string() })) })
    expect(good.result.result).toMatchObject({ structuredContent: { url: 'x' } })
    const bad = await ended({ output: { link: 'x' } }, { tools: withOutput(z.object({ url: z.string() })) })
    expect(bad.result).toMatchObject({
      status: 'completed',
      result: { isError: true, content: [{ text: expect.stringMatching(/does not fit.*url/) }] },
    })
  })
  it.each([
    ['absent', undefined],
    ['null', null],
    ['empty', ''],
  ])('says that there is no output when it is %s', async (_, output) => {
    expect((await ended({ output })).result.result).toMatchObject({
      content: [{ text: 'The job succeeded and gave no output.' }],
    })
  })
  it('keeps the tail of a text that is too long, and says how much is missing', async () => {
    const { result } = await ended(
      { output: `${'x'.repeat(300_000)}\nTHE ERROR IS HERE` },
      { policy: { maxResultBytes: 10_000 } },
    )
    const { text } = result.result.content[0]
    expect(Buffer.byteLength(text)).toBeLessThan(10_200)
    expect(text).toMatch(/^\[The first [\d,]+ bytes were left out\.\]/)
    expect(text).toMatch(/THE ERROR IS HERE$/)
  })
  it('refuses structure that is too large instead of cutting it in two', async () => {
    const { result } = await ended(
      { output: { rows: Array.from({ length: 5_000 }, (_, at) => ({ at })) } },
      { policy: { maxResultBytes: 1_000 } },
    )
    expect(result.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('larger than the limit of 1,000') }],
    })
  })
  it('is free of escape codes, concealed text, NUL and broken Unicode', async () => {
    const { result, text } = await ended({
      output: '\u001b[31mred\u001b[0m \u001b[8mha:////x\u001b[0m\u0000 \ud800 end',
    })
    expect(result.result.content[0].text).toBe('red  \ufffd end')
    expect(() => JSON.parse(text)).not.toThrow()
  })
  it('never keeps an ended job from ending when it cannot be read', async () => {
    const job = { result: { path: '/jobs/{ref.id}/result', value: 'output' } }
    const w = await world({ job })
    const taskId = await w.start()
    w.up.setState('1', { status: 'done' })
    w.up.script.result.push({ status: 404, body: { message: 'result expired' } })
    expect((await w.get(taskId)).result).toMatchObject({
      status: 'completed',
      result: {
        isError: true,
        content: [
          { text: expect.stringMatching(/The job succeeded\. Its result could not be read: .*result expired/) },
        ],
      },
    })
  })
  it('is fetched once, at the first sight of the end', async () => {
    const w = await world({ job: { result: { path: '/jobs/{ref.id}/result', value: 'output' } } })
    const taskId = await w.start()
    w.up.setState('1', { status: 'done', output: 'kept' })
    await Promise.all([w.get(taskId), w.get(taskId)])
    w.up.forget('1')
    expect((await w.get(taskId)).result.result.content[0].text).toBe('kept')
    expect(w.up.count('GET', '/jobs/1/result')).toBe(1)
  })
  it('names the upstream job for a person', async () => {
    const { result } = await ended({ output: 'x', web: 'https://farm.example/jobs/1' })
    expect(result.result._meta).toEqual({ 'mcp-job-tools/job': { id: '1', url: 'https://farm.example/jobs/1' } })
  })
})

describe('numbers', () => {
  it('keep every digit of an id beyond 2^53, into the next request', async () => {
    const w = await world()
    w.up.script.create.push({
      status: 201,
      body: '{"id":9007199254740993}',
      headers: { 'content-type': 'application/json' },
    })
    const taskId = await w.start()
    await w.get(taskId)
    expect(w.up.requests.at(-1)?.path).toBe('/jobs/9007199254740993')
  })
})

describe('secrets', () => {
  const secret = 'tok_1234567890abcdefghij'
  const authorization = () => `Bearer ${secret}`

  it('never leave: not in a result, a message, an error, an event or the store', async () => {
    const store = new FailingStore()
    const seen: string[] = []
    const w = await world({
      options: { store },
      job: { headers: { authorization, 'x-api-key': () => 'key-0987654321' } },
    })
    const echo = {
      reason: `bad token ${secret}`,
      message: `Authorization: Bearer ${secret}`,
      web: `https://farm.example/?token=${secret}`,
    }
    w.up.script.create.push(
      { status: 422, body: { message: `your key key-0987654321 and ${secret} are fine, the scene is not` } },
      {},
    )
    seen.push((await w.call()).text)
    const taskId = await w.start()
    w.up.script.get.push(
      { status: 403, body: { error: echo.reason } },
      { body: { status: 'running', ...echo } },
      { body: { status: 'done', output: { [`k ${secret}`]: [secret, encodeURIComponent(`Bearer ${secret}`)] } } },
    )
    for (let look = 0; look < 3; look++) {
      seen.push((await w.get(taskId)).text)
      w.clock.now += 60_000
    }
    expect(w.up.requests[0]?.headers.authorization).toBe(`Bearer ${secret}`)
    for (const text of [...seen, store.dump(), JSON.stringify(w.events)]) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain('key-0987654321')
    }
    expect(seen.join()).toContain('[redacted]')
  })

  it('never leave in a result of plain text or in a log', async () => {
    const { result } = await ended(
      { output: `token: ${secret}\nBearer ${secret}` },
      { job: { headers: { authorization } } },
    )
    expect(result.result.content[0].text).toBe('token: [redacted]\n[redacted]')
  })

  it('do not follow a redirect to another origin', async () => {
    const w = await world({ job: { headers: { authorization } } })
    const other = await world({})
    const taskId = await w.start()
    w.up.script.get.push({ status: 302, headers: { location: `${other.up.url}/jobs/1` } })
    expect((await w.get(taskId)).result.statusMessage).toContain('redirect')
    expect(other.up.requests).toHaveLength(0)
  })
})

describe('input that a model chose', () => {
  const paths = ['../../../user', '..%2f..%2fuser', '%2e%2e', '.', '..', '', 'a\u0000b', 'a\r\nb', 'x'.repeat(5_000)]
  const tools = (url: string) => [
    defineJobTool({
      name: 'render',
      input: z.object({ id: z.string() }),
      job: httpJob(usualJob(url, { create: { method: 'POST', path: '/jobs/{input.id}/runs', id: 'id' } })),
    }),
  ]
  it.each(paths)('cannot leave its path: %j is refused before any request', async (id) => {
    const w = await world({ tools })
    const { result } = await w.call({ id })
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^The job was not started\. input\.id/) }],
    })
    expect(w.up.requests).toHaveLength(0)
  })
  it.each([
    ['1?private_token=x', '/jobs/1%3Fprivate_token%3Dx/runs'],
    ['1#', '/jobs/1%23/runs'],
    ['feature/login', '/jobs/feature%2Flogin/runs'],
  ])('is one encoded segment: %j', async (id, path) => {
    const w = await world({ tools })
    await w.call({ id })
    expect(w.up.requests[0]?.path).toBe(path)
  })
})
