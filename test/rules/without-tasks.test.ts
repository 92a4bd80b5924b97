import { defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Declares, rpc, rpc2025 } from '../support/rpc.js'
import { usualJob, type World, world } from '../support/world.js'

const plain: Declares = { tasks: false }
const callTool = (w: World, name: string, args: Record<string, unknown>, declares: Declares = plain) =>
  rpc(w.url, 'tools/call', { name, arguments: args }, declares)
const quick = { pollIntervalMs: 50, minPollIntervalMs: 20, waitMs: 400 }

/** A clock that is the real one: the bounded wait sleeps in real time. */
const realTime = {
  get now() {
    return Date.now()
  },
  set now(_: number) {},
}

const generations: [string, (w: World, name: string, args: Record<string, unknown>) => ReturnType<typeof rpc>][] = [
  ['a 2026 client that does not declare tasks', (w, name, args) => callTool(w, name, args)],
  ['a 2025 client', (w, name, args) => rpc2025(w.url, 'tools/call', { name, arguments: args })],
]

describe.each(generations)('%s', (_, call) => {
  it('gets the plain result of a job that ends in time', async () => {
    const w = await world({ policy: quick, clock: realTime })
    w.up.script.get.push(
      { body: { id: '1', status: 'running' } },
      { body: { id: '1', status: 'done', output: 'short and sweet' } },
    )
    const { result } = await call(w, 'render', {})
    expect(result.content).toEqual([{ type: 'text', text: 'short and sweet' }])
    expect(result.isError).toBeUndefined()
  })

  it('gets a text that begins NOT FINISHED, with a handle, when the time is up', async () => {
    const w = await world({ policy: quick, clock: realTime })
    w.up.script.get.push({ body: { id: '1', status: 'running', message: 'stage compile', percent: 40 } })
    const { result } = await call(w, 'render', {})
    const handle = result.structuredContent.handle
    expect(result.content[0].text).toMatch(/^NOT FINISHED\. .*stage compile \(40%\)/)
    expect(result.content[0].text).toContain(`Handle: ${handle}`)
    expect(result.structuredContent).toMatchObject({ done: false, status: 'working', progress: { done: 40 } })
    expect(w.up.count('POST', '/jobs')).toBe(1)
  })

  it('carries on with job_status, and gets the result there', async () => {
    const w = await world({ policy: { ...quick, waitMs: 0 }, clock: realTime })
    const { handle } = (await call(w, 'render', {})).result.structuredContent
    expect((await call(w, 'job_status', { handle })).result.content[0].text).toMatch(/^NOT FINISHED/)
    w.up.setState('1', { status: 'done', output: 'the film' })
    const { result } = await call(w, 'job_status', { handle, waitMs: 2_000 })
    expect(result.content.map((block: { text: string }) => block.text)).toEqual([
      expect.stringMatching(/^FINISHED, and the job succeeded/),
      'the film',
    ])
    expect(result.structuredContent).toMatchObject({ done: true, status: 'completed' })
  })

  it('cancels with job_cancel', async () => {
    const w = await world({ policy: { ...quick, waitMs: 0 }, clock: realTime })
    const { handle } = (await call(w, 'render', {})).result.structuredContent
    await call(w, 'job_cancel', { handle })
    const { result } = await call(w, 'job_status', { handle, waitMs: 2_000 })
    expect(result).toMatchObject({ isError: true, structuredContent: { done: true, status: 'cancelled' } })
    expect(result.content[0].text).toMatch(/^CANCELLED/)
    expect(w.up.count('POST', '/jobs/1/cancel')).toBe(1)
  })

  it('answers a question with job_answer, which names what is open', async () => {
    const w = await world({ policy: quick, clock: realTime })
    w.up.script.get.push({
      body: {
        id: '1',
        status: 'waiting',
        message: 'gate',
        questions: [{ key: 'go', text: 'Deploy?', form: { why: { type: 'string' } } }],
      },
    })
    const { result } = await call(w, 'render', {})
    expect(result.content[0].text).toMatch(/^NOT FINISHED\. The job waits for a decision by a person/)
    expect(result.content[0].text).toContain('"go": Deploy?')
    expect(result.content[0].text).toContain('why (string)')
    const { handle } = result.structuredContent
    const wrongKey = (await call(w, 'job_answer', { handle, question: 'stop', action: 'accept' })).result
    expect(wrongKey).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('it asks "go"') }, {}] })
    const wrongField = (await call(w, 'job_answer', { handle, question: 'go', action: 'accept' })).result
    expect(wrongField).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('content.why is missing') }],
    })
    expect(w.up.count('POST', '/jobs/1/answer')).toBe(0)
    w.up.script.get.length = 0
    await call(w, 'job_answer', { handle, question: 'go', action: 'accept', content: { why: 'green' } })
    expect(w.up.requests.find(({ path }) => path.endsWith('/answer'))?.body).toEqual({
      key: 'go',
      answer: { why: 'green' },
    })
  })

  it('is told in plain words that a handle means nothing to it', async () => {
    const w = await world({ policy: quick, clock: realTime })
    const { result } = await call(w, 'job_status', { handle: 'nope' })
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('no job with this handle') }],
    })
  })

  it('gets an error result for a job that failed, was cancelled, or vanished', async () => {
    const w = await world({ policy: { ...quick, notFoundGraceMs: 0 }, clock: realTime })
    for (const [state, words] of [
      [{ status: 'error', reason: 'boom' }, /boom/],
      [{ status: 'cancelled' }, /^CANCELLED/],
    ] as const) {
      w.up.script.get.splice(0, 9, { body: state })
      const { result } = await call(w, 'render', {})
      expect(result.isError).toBe(true)
      expect(result.content[0].text).toMatch(words)
    }
    w.up.script.get.splice(0, 9, { status: 404 })
    expect((await call(w, 'render', {})).result.content[0].text).toMatch(/^FAILED\. Job 3 no longer exists/)
  })
})

describe('without tasks', () => {
  it('sends progress notifications while a call waits, whose progress only grows', async () => {
    const w = await world({ policy: quick, clock: realTime })
    w.up.script.get.push(
      ...[10, 40, 40, 30].map((percent) => ({
        body: { id: '1', status: 'running', message: `at ${percent}`, percent },
      })),
      { body: { id: '1', status: 'done', output: 'x' } },
    )
    const { notifications } = await rpc(
      w.url,
      'tools/call',
      { name: 'render', arguments: {}, _meta: { progressToken: 'p1' } },
      plain,
    )
    const values = notifications.map(({ params }) => params.progress as number)
    expect(
      notifications.every(({ method, params }) => method === 'notifications/progress' && params.progressToken === 'p1'),
    ).toBe(true)
    expect(values.length).toBeGreaterThan(1)
    expect([...values].sort((one, other) => one - other)).toEqual(values)
    expect(new Set(values).size).toBe(values.length)
  })

  it('answers with the handle at once where the tool says so', async () => {
    const w = await world({ policy: { withoutTasks: 'handle' } })
    expect((await w.call({}, plain)).result.content[0].text).toMatch(/^NOT FINISHED/)
    expect(w.up.count('GET', '/jobs/1')).toBe(0)
  })

  it('refuses with -32021 where the tool says so, and with -32601 on 2025 connections', async () => {
    const w = await world({ policy: { withoutTasks: 'reject' } })
    expect((await w.call({}, plain)).error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } },
    })
    expect((await rpc2025(w.url, 'tools/call', { name: 'render', arguments: {} })).error?.code).toBe(-32601)
    expect(w.up.count('POST', '/jobs')).toBe(0)
  })

  it('still checks the input first', async () => {
    const w = await world({
      tools: (url) => [
        defineJobTool({ name: 'render', input: z.object({ scene: z.string() }), job: httpJob(usualJob(url)) }),
      ],
    })
    expect((await callTool(w, 'render', {})).result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('scene') }],
    })
    expect(w.up.count('POST', '/jobs')).toBe(0)
  })

  it('keeps the job and its result for a caller that went away', async () => {
    const w = await world({ policy: { ...quick, waitMs: 5_000 }, clock: realTime })
    const gone = new AbortController()
    const call = callTool(w, 'render', {}, { ...plain, signal: gone.signal })
    await w.up.waitFor((up) => up.count('GET', '/jobs/1') > 0)
    gone.abort()
    await expect(call).rejects.toThrow()
    w.up.setState('1', { status: 'done', output: 'was kept' })
    const handle = w.eventsOf('created')[0]?.taskId
    expect((await callTool(w, 'job_status', { handle, waitMs: 2_000 })).result.content[1].text).toBe('was kept')
    expect(w.up.count('POST', '/jobs')).toBe(1)
  })

  it('lets a short job answer plainly to a client with tasks, where immediateMs allows', async () => {
    const w = await world({ policy: { ...quick, immediateMs: 2_000 }, clock: realTime })
    w.up.script.get.push({ body: { id: '1', status: 'done', output: 'at once' } })
    expect((await w.call()).result).toMatchObject({ resultType: 'complete', content: [{ text: 'at once' }] })
    w.up.script.get.splice(0, 9, { body: { id: '2', status: 'running' } })
    const slow = await world({ policy: { ...quick, immediateMs: 100 }, clock: realTime, up: w.up })
    expect((await slow.call()).result.resultType).toBe('task')
  })
})
