/* An HTTP server for tests that kill it: the usual job over UPSTREAM, tasks in the LMDB file STORE. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node'
import { McpServer } from '@modelcontextprotocol/server'
import { createJobTools, defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { lmdbStore } from 'mcp-job-tools/stores/lmdb'
import { z } from 'zod'
import { usualJob } from './usual-job.js'

const job = usualJob(process.env.UPSTREAM ?? '', {
  locate: { path: '/jobs', query: { key: '{key}' }, id: 'jobs[0].id' },
  result: { path: '/jobs/{ref.id}/result', value: 'output' },
})
const jobs = createJobTools({
  tools: [
    defineJobTool({
      name: 'render',
      input: z.object({ scene: z.string() }),
      job: httpJob(job),
      pollIntervalMs: 100,
      minPollIntervalMs: 20,
    }),
  ],
  store: lmdbStore({ path: process.env.STORE ?? '' }),
})
const handler = toNodeHandler(
  jobs.handler(() => {
    const server = new McpServer({ name: 'test', version: '1.0.0' })
    // What a cron job would do.
    server.registerTool('sweep', { inputSchema: z.object({}) }, async () => ({
      content: [{ type: 'text', text: JSON.stringify(await jobs.sweep()) }],
    }))
    return server
  }),
)
const server = createServer((request, response) => void handler(request as NodeIncomingMessageLike, response))
server.listen(0, '127.0.0.1', () => console.log(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`))
