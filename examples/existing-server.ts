/**
 * Job tools on a server that you have already: its own tools stay as they are.
 *
 *     npx tsx examples/demo/job-server.ts                      # a job server to try it with; prints its URL
 *     JOBS_URL=http://127.0.0.1:... npx tsx examples/existing-server.ts
 */
import { createServer } from 'node:http'
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { createJobTools, defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { lmdbStore } from 'mcp-job-tools/stores/lmdb'
import { z } from 'zod'

const {
  JOBS_URL = 'http://127.0.0.1:4000',
  JOBS_TOKEN = 'demo-token',
  STORE = './jobs.lmdb',
  PORT = '3000',
} = process.env

const survey = defineJobTool({
  name: 'survey_folder',
  description: 'Counts the lines of the source files of a folder',
  input: z.object({ folder: z.string() }),
  job: httpJob({
    baseUrl: JOBS_URL,
    headers: { authorization: () => `Bearer ${JOBS_TOKEN}` },
    create: { method: 'POST', path: '/jobs', body: { folder: '{input.folder}' }, id: 'id' },
    get: { path: '/jobs/{ref.id}' },
    cancel: { method: 'POST', path: '/jobs/{ref.id}/cancel' },
    status: 'status',
    states: {
      running: 'working',
      waiting: 'input_required',
      done: 'succeeded',
      failed: 'failed',
      cancelled: 'cancelled',
    },
    message: 'stage',
    progress: 'percent',
    error: 'error',
    result: 'report',
    questions: {
      list: 'question ? [$]',
      key: '"go-on"',
      message: 'question',
      accept: { method: 'POST', path: '/jobs/{ref.id}/approve' },
      decline: { method: 'POST', path: '/jobs/{ref.id}/reject' },
    },
  }),
  pollIntervalMs: 1_000,
})

// The second adapter is written by hand: it is content once the lines are counted.
const quickSurvey = defineJobTool({
  name: 'count_lines',
  description: 'Counts the lines of the source files of a folder, and stops there',
  input: z.object({ folder: z.string() }),
  job: {
    create: async (input: { folder: string }) => {
      const { id } = await askJobServer<{ id: string }>('POST', '/jobs', { folder: input.folder })
      return { id }
    },
    get: (ref: { id: string }) =>
      askJobServer<{ status: string; question?: string; percent: number }>(
        'GET',
        `/jobs/${encodeURIComponent(ref.id)}`,
      ),
    read: (job: { status: string; question?: string; percent: number }) => {
      if (job.question !== undefined) return { phase: 'succeeded' as const, message: job.question }
      return {
        phase: job.status === 'failed' ? ('failed' as const) : ('working' as const),
        progress: { done: job.percent },
      }
    },
  },
  pollIntervalMs: 1_000,
})

async function askJobServer<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${JOBS_URL}${path}`, {
    method,
    headers: { authorization: `Bearer ${JOBS_TOKEN}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  if (!response.ok) throw new Error(`the job server answered ${response.status}`)
  return (await response.json()) as Answer
}

const jobs = createJobTools({ tools: [survey, quickSurvey], store: lmdbStore({ path: STORE }) })

function myServer(): McpServer {
  const server = new McpServer({ name: 'existing', version: '1.0.0' })
  server.registerTool('greet', { inputSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    content: [{ type: 'text', text: `Hello, ${name}!` }],
  }))
  jobs.attach(server)
  return server
}

// `wrap` adds task notifications to the handler; without it clients poll.
const handler = toNodeHandler(jobs.wrap(createMcpHandler(myServer)))
const server = createServer((request, response) => void handler(request as NodeIncomingMessageLike, response))
server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address()
  console.log(`ready http://127.0.0.1:${typeof address === 'object' ? address?.port : PORT}/mcp`)
})
