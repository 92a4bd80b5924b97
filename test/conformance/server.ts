import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { createJobTools, defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { z } from 'zod'

/** The tools that the conformance suite expects, each but `greet` a job tool over the service in upstream.ts. */
export function fixtureTools(baseUrl: string) {
  const job = (kind: string, create: Record<string, unknown> = {}) =>
    httpJob({
      baseUrl,
      create: { method: 'POST', path: '/jobs', body: { kind, input: '{input}', ...create }, id: 'id' },
      get: { path: '/jobs/{ref.id}' },
      cancel: { method: 'POST', path: '/jobs/{ref.id}/cancel' },
      status: 'status',
      states: {
        running: 'working',
        waiting: 'input_required',
        done: 'succeeded',
        error: 'failed',
        cancelled: 'cancelled',
      },
      result: 'output',
      questions: {
        list: 'questions',
        key: 'key',
        message: 'message',
        form: '{ field: { "type": field = "confirm" ? "boolean" : "string" } }',
        accept: { method: 'POST', path: '/jobs/{ref.id}/answer', body: { key: '{question.key}', value: '{answer}' } },
      },
    })
  return [
    defineJobTool({
      name: 'slow_compute',
      input: z.object({ seconds: z.number(), label: z.string().optional() }),
      job: job('compute', { seconds: '{input.seconds}' }),
    }),
    defineJobTool({
      name: 'failing_job',
      input: z.object({}),
      job: job('fail', { seconds: 1 }),
      withoutTasks: 'reject',
    }),
    defineJobTool({
      name: 'protocol_error_job',
      input: z.object({}),
      job: job('vanish', { seconds: 0.5 }),
      notFoundGraceMs: 0,
    }),
    defineJobTool({ name: 'confirm_delete', input: z.object({ filename: z.string() }), job: job('confirm') }),
    defineJobTool({ name: 'multi_input', input: z.object({}), job: job('multi') }),
    defineJobTool({
      name: 'test_tool_with_task',
      input: z.object({}),
      job: job('named', { input: { name: '{ask.user_name.name}' } }),
      ask: () => [{ key: 'user_name', message: 'What is your name?', form: { name: { type: 'string' } } }],
      withoutTasks: 'reject',
    }),
  ]
}

function plainServer(): McpServer {
  const server = new McpServer({ name: 'conformance', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.registerTool('greet', { description: 'Greets', inputSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    content: [{ type: 'text', text: `Hello, ${name}!` }],
  }))
  return server
}

/** Serves the fixture on a free port, with the job tools or (to compare) without. */
export async function startServer(
  upstreamUrl: string,
  withJobs: boolean,
): Promise<{ url: string; close: () => Promise<void> }> {
  const jobs = createJobTools({
    tools: fixtureTools(upstreamUrl),
    store: new Map(),
    defaults: { pollIntervalMs: 200, minPollIntervalMs: 100 },
  })
  const handler = withJobs ? jobs.handler(plainServer) : createMcpHandler(plainServer)
  const serve = toNodeHandler(handler)
  const server = createServer((request, response) => void serve(request as NodeIncomingMessageLike, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = async () => {
    await handler.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await jobs.close()
  }
  return { url: `http://127.0.0.1:${port}/mcp`, close }
}
