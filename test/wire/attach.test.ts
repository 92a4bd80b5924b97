import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { createJobTools, defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { type FaultyUpstream, faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { rpc, rpc2025 } from '../support/rpc.js'
import { serve } from '../support/serve.js'
import { closing, usualJob } from '../support/world.js'

const tool = (url: string, name = 'render', output?: z.ZodType) =>
  defineJobTool({
    name,
    title: 'Render',
    description: 'Renders',
    input: z.object({ scene: z.string().default('a') }),
    ...(output ? { output: output as never } : {}),
    job: httpJob(usualJob(url)),
  })

/** A host's own server: an ordinary tool, one with an output schema, one of several round trips, a prompt and a resource. */
function hostServer(): McpServer {
  const server = new McpServer(
    { name: 'host', version: '1.0.0' },
    { cacheHints: { 'tools/list': { ttlMs: 60_000, cacheScope: 'public' } } },
  )
  server.registerTool('greet', { inputSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    content: [{ type: 'text', text: `Hello, ${name}!` }],
  }))
  server.registerTool(
    'add',
    { inputSchema: z.object({ a: z.number() }), outputSchema: z.object({ sum: z.number() }) },
    ({ a }) => ({ content: [], structuredContent: { sum: a + 1 } }),
  )
  server.registerTool('confirm', { inputSchema: z.object({}) }, (_args, ctx) => {
    const answer = ctx.mcpReq.inputResponses?.sure as { action?: string } | undefined
    if (answer) return { content: [{ type: 'text', text: `${answer.action}, state ${ctx.mcpReq.requestState()}` }] }
    return inputRequired({
      inputRequests: {
        sure: inputRequired.elicit({ message: 'Sure?', requestedSchema: { type: 'object', properties: {} } }),
      },
      requestState: 'mine',
    })
  })
  server.registerTool('broken', { inputSchema: z.object({}) }, () => {
    throw new Error('boom')
  })
  server.registerPrompt('hello', {}, () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }] }))
  server.registerResource('config', 'config://app', {}, (uri) => ({
    contents: [{ uri: uri.href, text: 'configured' }],
  }))
  return server
}

async function attached(build: (up: FaultyUpstream, server: McpServer) => void) {
  const up = await faultyUpstream()
  closing(() => up.close())
  const served = await serve(
    createMcpHandler(() => {
      const server = hostServer()
      build(up, server)
      return server
    }),
  )
  closing(() => served.close())
  return { up, url: served.url }
}

async function withJobs(output?: z.ZodType) {
  let jobs: ReturnType<typeof createJobTools> | undefined
  const world = await attached((up, server) => {
    if (!jobs) {
      jobs = createJobTools({ tools: [tool(up.url, 'render', output)], store: new Map() })
      closing(() => (jobs as { close(): Promise<void> }).close())
    }
    jobs.attach(server)
    jobs.attach(server)
  })
  return world
}

const call = (url: string, name: string, args = {}, over = {}) =>
  rpc(url, 'tools/call', { name, arguments: args, ...over })

describe("a host's own server with job tools attached", () => {
  it('keeps its other tools, prompts and resources as they were', async () => {
    const { url } = await withJobs()
    expect((await call(url, 'greet', { name: 'Ann' })).result.content).toEqual([{ type: 'text', text: 'Hello, Ann!' }])
    expect((await call(url, 'add', { a: 1 })).result.structuredContent).toEqual({ sum: 2 })
    expect((await call(url, 'greet', {})).result.isError).toBe(true)
    expect((await call(url, 'broken')).result).toMatchObject({ isError: true, content: [{ text: 'boom' }] })
    expect((await call(url, 'no-such-tool')).error?.code).toBe(-32602)
    expect((await rpc(url, 'prompts/get', { name: 'hello' })).result.messages).toHaveLength(1)
    const first = await call(url, 'confirm')
    expect(first.result).toMatchObject({ resultType: 'input_required', requestState: 'mine' })
    const second = await call(
      url,
      'confirm',
      {},
      { requestState: 'mine', inputResponses: { sure: { action: 'accept', content: {} } } },
    )
    expect(second.result.content[0].text).toBe('accept, state mine')
  })

  it('serves the job tools beside them', async () => {
    const { url, up } = await withJobs()
    const { result } = await call(url, 'render')
    up.setState('1', { status: 'done', output: 'x' })
    expect((await rpc(url, 'tasks/get', { taskId: result.taskId })).result.status).toBe('completed')
  })

  it('ignores a stray params.task of a 2026 request', async () => {
    const { url } = await withJobs()
    expect((await call(url, 'render', {}, { task: { ttl: 1 } })).result.resultType).toBe('task')
    expect((await call(url, 'greet', { name: 'Ann' }, { task: { ttl: 1 } })).result.content).toHaveLength(1)
  })

  it('answers unknown methods as before', async () => {
    const { url } = await withJobs()
    const { status, error } = await rpc(url, 'no/such', {})
    expect([status, error?.code]).toEqual([404, -32601])
    for (const method of ['tasks/result', 'tasks/list'])
      expect((await rpc(url, method, { taskId: 'x' })).error?.code).toBe(-32601)
  })

  it('serves two sets of job tools, each with tasks of its own', async () => {
    const two = await faultyUpstream()
    closing(() => two.close())
    let sets: ReturnType<typeof createJobTools>[] = []
    const { url, up } = await attached((one, server) => {
      if (sets.length === 0) {
        sets = [
          createJobTools({ tools: [tool(one.url, 'first')], store: new Map() }),
          createJobTools({ tools: [tool(two.url, 'second')], store: new Map(), handleTools: false }),
        ]
        for (const set of sets) closing(() => set.close())
      }
      for (const set of sets) set.attach(server)
    })
    const [a, b] = [(await call(url, 'first')).result.taskId, (await call(url, 'second')).result.taskId]
    up.setState('1', { status: 'done', output: 'one' })
    two.setState('1', { status: 'done', output: 'two' })
    expect((await rpc(url, 'tasks/get', { taskId: a })).result.result.content[0].text).toBe('one')
    expect((await rpc(url, 'tasks/get', { taskId: b })).result.result.content[0].text).toBe('two')
    expect((await rpc(url, 'tasks/get', { taskId: 'A'.repeat(32) })).error).toEqual({
      code: -32602,
      message: 'Task not found',
    })
  })

  it('says what to do when both sets bring the handle tools', async () => {
    const server = hostServer()
    createJobTools({ tools: [tool('http://127.0.0.1:1', 'first')] }).attach(server)
    expect(() => createJobTools({ tools: [tool('http://127.0.0.1:1', 'second')] }).attach(server)).toThrow(
      /handleTools: false/,
    )
  })

  it('detects a tools/call handler that the host sets afterwards', async () => {
    let jobs: ReturnType<typeof createJobTools> | undefined
    const { url } = await attached((up, server) => {
      jobs ??= createJobTools({ tools: [tool(up.url)], store: new Map() })
      jobs.attach(server)
      server.server.setRequestHandler('tools/call', async () => ({ content: [] }))
    })
    closing(() => (jobs as { close(): Promise<void> }).close())
    expect((await rpc(url, 'tools/list', {})).error?.message).toMatch(
      /Another `tools\/call` handler was set after jobs\.attach/,
    )
  })

  it('refuses a server that is connected already', async () => {
    const { InMemoryTransport } = await import('@modelcontextprotocol/server')
    const server = hostServer()
    const [one] = InMemoryTransport.createLinkedPair()
    await server.connect(one)
    expect(() => createJobTools({ tools: [tool('http://127.0.0.1:1')] }).attach(server)).toThrow(
      /before the server is connected/,
    )
    await server.close()
  })

  it('refuses options that cannot work', () => {
    expect(() => createJobTools({ tools: [] })).toThrow(/there is no tool/)
    expect(() => createJobTools({ tools: [tool('http://127.0.0.1:1'), tool('http://127.0.0.1:1')] })).toThrow(
      /"render", name: is used twice/,
    )
    expect(() => createJobTools({ tools: [tool('http://127.0.0.1:1')], defaults: { waitMs: 60_000 } })).toThrow(
      /waitMs: 60000/,
    )
  })
})

describe('the listing of tools', () => {
  const names = (answer: { result: { tools: { name: string }[] } }) => answer.result.tools.map(({ name }) => name)
  const render = (answer: { result: { tools: Record<string, unknown>[] } }) =>
    answer.result.tools.find(({ name }) => name === 'render')

  it('shows outputSchema of job tools, and no handle tools, to clients that declare tasks', async () => {
    const { url } = await withJobs(z.object({ url: z.string() }))
    const answer = await rpc(url, 'tools/list', {})
    expect(names(answer)).toEqual(['greet', 'add', 'confirm', 'broken', 'render'])
    expect(render(answer)).toMatchObject({ title: 'Render', description: 'Renders', outputSchema: { type: 'object' } })
  })
  it('shows the handle tools, and no outputSchema, to the others', async () => {
    const { url } = await withJobs(z.object({ url: z.string() }))
    for (const answer of [await rpc(url, 'tools/list', {}, { tasks: false }), await rpc2025(url, 'tools/list', {})]) {
      expect(names(answer)).toEqual([
        'greet',
        'add',
        'confirm',
        'broken',
        'render',
        'job_status',
        'job_cancel',
        'job_answer',
      ])
      expect(render(answer)?.outputSchema).toBeUndefined()
      expect(answer.result.tools.find(({ name }: { name: string }) => name === 'add').outputSchema).toBeDefined()
    }
  })
  it('is private, whatever the host says of its cache', async () => {
    const { url } = await withJobs()
    expect((await rpc(url, 'tools/list', {})).result).toMatchObject({ cacheScope: 'private', ttlMs: 60_000 })
  })
  it('declares the extension as exactly {}', async () => {
    const { url } = await withJobs()
    const { result } = await rpc(url, 'server/discover', {})
    expect(result.capabilities.extensions).toEqual({ 'io.modelcontextprotocol/tasks': {} })
    expect(result.capabilities.tasks).toBeUndefined()
  })
  it('does not tell declaring clients to wait or poll', async () => {
    const { url } = await withJobs()
    expect(JSON.stringify((await rpc(url, 'tools/list', {})).result)).not.toMatch(/job_status|poll|wait/i)
  })
})
