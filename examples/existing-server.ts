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

interface CountJob {
  status: string
  percent: number
  question?: string
}

// The second adapter is written by hand: it is content once the lines are counted, and gives up the rest of the job.
const quickSurvey = defineJobTool({
  name: 'count_lines',
  description: 'Counts the lines of the source files of a folder, and stops there',
  input: z.object({ folder: z.string() }),
  job: {
    create: async (input: { folder: string }, ctx) => {
      const { id } = await askJobServer<{ id: string }>('POST', '/jobs', ctx.signal, { folder: input.folder })
      return { id }
    },
    get: (ref: { id: string }, ctx) => askJobServer<CountJob>('GET', `/jobs/${encodeURIComponent(ref.id)}`, ctx.signal),
    read: (job: CountJob) => {
      if (job.question !== undefined || job.status === 'done') return { phase: 'succeeded' }
      if (job.status === 'cancelled' || job.status === 'failed') return { phase: job.status }
      return { phase: 'working', progress: { done: job.percent } }
    },
    result: async (ref, job, ctx) => {
      if (job.question === undefined) return { text: 'Somebody has let the job go on to its end.' }
      await stop(ref.id, ctx.signal)
      return { text: job.question }
    },
    cancel: (ref, ctx) => stop(ref.id, ctx.signal),
  },
  pollIntervalMs: 1_000,
})

const stop = (id: string, signal: AbortSignal): Promise<void> =>
  askJobServer('POST', `/jobs/${encodeURIComponent(id)}/cancel`, signal)

async function askJobServer<Answer>(method: string, path: string, signal: AbortSignal, body?: object): Promise<Answer> {
  const response = await fetch(`${JOBS_URL}${path}`, {
    method,
    // Ends the request when the operation's time is up.
    signal,
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
