/** The MCP server of the demo: one job tool, an LMDB store, the web handler. JOBS_URL, JOBS_TOKEN, STORE, PORT. */
import { createServer } from 'node:http'
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node'
import { createJobTools } from 'mcp-job-tools'
import { lmdbStore } from 'mcp-job-tools/stores/lmdb'
import { surveyTool } from './tool.js'

const {
  JOBS_URL = 'http://127.0.0.1:4000',
  JOBS_TOKEN = 'demo-token',
  STORE = './jobs.lmdb',
  PORT = '3000',
} = process.env
const jobs = createJobTools({ tools: [surveyTool(JOBS_URL, JOBS_TOKEN)], store: lmdbStore({ path: STORE }) })
const handler = toNodeHandler(jobs.handler({ name: 'demo', version: '1.0.0' }))
const server = createServer((request, response) => void handler(request as NodeIncomingMessageLike, response))
server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address()
  console.log(`ready http://127.0.0.1:${typeof address === 'object' ? address?.port : PORT}/mcp`)
})

// Orderly when it is asked to, and when the demo that started it is gone. The demo's point is that nothing depends on it.
const end = () => void jobs.close().finally(() => process.exit(0))
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, end)
process.once('disconnect', end)
