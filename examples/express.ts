/**
 * Job tools in an Express application.
 *
 *     npx tsx examples/demo/job-server.ts                      # a job server to try it with; prints its URL
 *     JOBS_URL=http://127.0.0.1:... npx tsx examples/express.ts
 */
import { type NodeIncomingMessageLike, type NodeServerResponseLike, toNodeHandler } from '@modelcontextprotocol/node'
import {
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server'
import express from 'express'
import { createJobTools } from 'mcp-job-tools'
import { lmdbStore } from 'mcp-job-tools/stores/lmdb'
import { survey } from './support/survey-tool.js'

const { STORE = './jobs.lmdb', PORT = '3000' } = process.env
const jobs = createJobTools({ tools: [survey], store: lmdbStore({ path: STORE }) })
const handler = toNodeHandler(jobs.handler({ name: 'express-example', version: '1.0.0' }))

const app = express()

// A web page on this machine must not reach the server by DNS rebinding.
app.use('/mcp', (request, response, next) => {
  const host = validateHostHeader(request.headers.host, localhostAllowedHostnames())
  const origin = validateOriginHeader(request.headers.origin, localhostAllowedOrigins())
  if (host.ok && origin.ok) next()
  else response.status(403).json({ error: 'forbidden' })
})

app.all('/mcp', express.json({ limit: '4mb' }), (request, response) => {
  void handler(request as NodeIncomingMessageLike, response as NodeServerResponseLike, request.body)
})

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address()
  console.log(`ready http://127.0.0.1:${typeof address === 'object' ? address?.port : PORT}/mcp`)
})
