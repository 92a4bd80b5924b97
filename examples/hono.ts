/**
 * Job tools in a Hono application.
 *
 *     npx tsx examples/demo/job-server.ts                      # a job server to try it with; prints its URL
 *     JOBS_URL=http://127.0.0.1:... npx tsx examples/hono.ts
 */
import { serve } from '@hono/node-server'
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import { Hono } from 'hono'
import { createJobTools } from 'mcp-job-tools'
import { lmdbStore } from 'mcp-job-tools/stores/lmdb'
import { survey } from './support/survey-tool.js'

const { STORE = './jobs.lmdb', PORT = '3000' } = process.env
const jobs = createJobTools({ tools: [survey], store: lmdbStore({ path: STORE }) })
const handler = jobs.handler({ name: 'hono-example', version: '1.0.0' })

const app = new Hono()
app.all('/mcp', (context) => {
  const request = context.req.raw
  // A web page on this machine must not reach the server by DNS rebinding.
  const refused =
    hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
    originValidationResponse(request, localhostAllowedOrigins())
  return refused ?? handler.fetch(request)
})

serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(`ready http://127.0.0.1:${port}/mcp`)
})
