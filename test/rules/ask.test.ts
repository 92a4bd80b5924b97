import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { createJobTools, defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Answered, rpc, rpc2025 } from '../support/rpc.js'
import { serve } from '../support/serve.js'
import { closing, usualJob, type World, type WorldOptions, world } from '../support/world.js'

const asks = (url: string) => [
  defineJobTool({
    name: 'render',
    input: z.object({ scene: z.string().default('intro') }),
    job: httpJob(
      usualJob(url, {
        create: {
          method: 'POST',
          path: '/jobs',
          body: { scene: '{input.scene}', budget: '{ask.budget.euros}' },
          id: 'id',
        },
      }),
    ),
    ask: (input) =>
      input.scene === 'cheap'
        ? undefined
        : [
            {
              key: 'budget',
              message: `What may "${input.scene}" cost?`,
              form: { euros: { type: 'integer', minimum: 1 } },
            },
          ],
  }),
]
const asking = (options: WorldOptions = {}) => world({ tools: asks, ...options })
const budget = (euros: unknown = 50) => ({ budget: { action: 'accept', content: { euros } } })

const second = (
  w: World,
  first: Answered,
  inputResponses: unknown,
  over: Record<string, unknown> = {},
  user?: string,
) =>
  rpc(
    w.url,
    'tools/call',
    { name: 'render', arguments: {}, requestState: first.result.requestState, inputResponses, ...over },
    user ? { user } : {},
  )

describe('questions before the job exists', () => {
  it('are asked first, and their answers reach create', async () => {
    const w = await asking()
    const first = await w.call()
    expect(first.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        budget: {
          method: 'elicitation/create',
          params: { message: 'What may "intro" cost?', requestedSchema: { required: ['euros'] } },
        },
      },
      requestState: expect.any(String),
    })
    expect(w.up.count('POST', '/jobs')).toBe(0)
    const { result } = await second(w, first, budget())
    expect(result.resultType).toBe('task')
    expect(w.up.requests[0]?.body).toMatchObject({ budget: 50 })
  })

  it('are left out where the tool has none for this input', async () => {
    const w = await asking()
    expect((await w.call({ scene: 'cheap' })).result.resultType).toBe('task')
  })

  it('make one job however often the last leg is sent, and each time answer with its task', async () => {
    const w = await asking()
    const first = await w.call()
    const ids = await Promise.all(Array.from({ length: 5 }, () => second(w, first, budget())))
    const tasks = new Set(ids.map(({ result }) => result.taskId))
    expect(tasks.size).toBe(1)
    expect((await second(w, first, budget())).result.taskId).toBe([...tasks][0])
    expect(w.up.count('POST', '/jobs')).toBe(1)
  })

  it('make one job at two replicas that share a store and nothing else', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const store = new Map()
    const [one, two] = [await asking({ up, options: { store } }), await asking({ up, options: { store } })]
    const first = await one.call()
    const [a, b] = await Promise.all([second(two, first, budget()), second(one, first, budget())])
    expect(a.result.taskId).toBe(b.result.taskId)
    expect(up.count('POST', '/jobs')).toBe(1)
  })

  it.each([
    ['declined', { budget: { action: 'decline' } }, /declined/],
    ['cancelled', { budget: { action: 'cancel' } }, /not answered/],
  ])('do not start the job when %s, and say so as a plain result', async (_, responses, words) => {
    const w = await asking()
    const { result } = await second(w, await w.call(), responses)
    expect(result.resultType).toBe('complete')
    expect(result.content[0].text).toMatch(/^The job was not started\./)
    expect(result.content[0].text).toMatch(words)
    expect(w.up.count('POST', '/jobs')).toBe(0)
  })

  it('refuse an answer that does not fit, naming the field', async () => {
    const w = await asking()
    expect((await second(w, await w.call(), budget('many'))).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('content.euros'),
    })
    expect(w.up.count('POST', '/jobs')).toBe(0)
  })

  const forged: [string, (first: Answered) => { state?: unknown; over?: Record<string, unknown>; user?: string }][] = [
    ['changed', (first) => ({ state: `${first.result.requestState.slice(0, -3)}abc` })],
    ['made up', () => ({ state: 'v1.e30.e30' })],
    ['empty', () => ({ state: '' })],
    ['no text', () => ({ state: 7 })],
    ["another call's", () => ({ over: { arguments: { scene: 'other' } } })],
    ["another owner's", () => ({ user: 'mallory' })],
  ]
  it.each(forged)('refuse a state that is %s', async (_, change) => {
    const w = await asking()
    const first = await w.call()
    const { state, over = {}, user } = change(first)
    const { error } = await second(
      w,
      first,
      budget(),
      { ...(state === undefined ? {} : { requestState: state }), ...over },
      user,
    )
    expect(error?.code).toBe(-32602)
    expect(w.up.count('POST', '/jobs')).toBe(0)
  })

  it('hold no answers in their state', async () => {
    const w = await asking()
    const first = await w.call({ scene: 'secret-scene' })
    const payload = Buffer.from(first.result.requestState.split('.')[1], 'base64url').toString()
    expect(payload).not.toContain('secret-scene')
  })

  it('need elicitation of a 2026 client, and say so with -32021', async () => {
    const w = await asking()
    const { error } = await w.call({}, { elicitation: false })
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: {} } } })
    expect(w.up.count('POST', '/jobs')).toBe(0)
  })

  it('work for a 2026 client without tasks, which then waits', async () => {
    const w = await asking({ tools: (url) => asks(url).map((tool) => ({ ...tool, policy: { waitMs: 0 } })) })
    const first = await w.call({}, { tasks: false })
    expect(first.result.resultType).toBe('input_required')
    const { result } = await rpc(
      w.url,
      'tools/call',
      { name: 'render', arguments: {}, requestState: first.result.requestState, inputResponses: budget() },
      { tasks: false },
    )
    expect(result.content[0].text).toMatch(/^NOT FINISHED/)
  })

  it('cannot be asked over stateless 2025 HTTP: the job is not started, and the result says so', async () => {
    const w = await asking()
    const { result } = await rpc2025(w.url, 'tools/call', { name: 'render', arguments: {} })
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/not started.*cannot carry questions/) }],
    })
    expect(w.up.count('POST', '/jobs')).toBe(0)
  })

  it("are not disturbed by the host's own verification of request state", async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const jobs = createJobTools({ tools: asks(up.url), store: new Map() })
    closing(() => jobs.close())
    const host = () => {
      const server = new McpServer(
        { name: 'host', version: '1' },
        {
          requestState: {
            verify: () => {
              throw new Error('not mine')
            },
          },
        },
      )
      jobs.attach(server)
      return server
    }
    const served = await serve(createMcpHandler(host))
    closing(() => served.close())
    const first = await rpc(served.url, 'tools/call', { name: 'render', arguments: {} })
    const { result } = await rpc(served.url, 'tools/call', {
      name: 'render',
      arguments: {},
      requestState: first.result.requestState,
      inputResponses: budget(),
    })
    expect(result.resultType).toBe('task')
  })

  it('refuse a secret that is too short when the tools are created', () => {
    expect(() => createJobTools({ tools: asks('http://127.0.0.1:1'), secret: 'short' })).toThrow(/at least 32/)
  })
})
