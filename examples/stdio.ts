/**
 * Job tools for a desktop host, over standard input and output. In the host's configuration:
 *
 *     "survey": {
 *       "command": "npx",
 *       "args": ["tsx", "/path/to/examples/stdio.ts"],
 *       "env": { "JOBS_URL": "http://127.0.0.1:4000", "JOBS_TOKEN": "demo-token", "STORE": "/path/to/jobs.lmdb" }
 *     }
 *
 * Standard output belongs to the protocol: log to standard error.
 */
import { createJobTools } from 'mcp-job-tools'
import { lmdbStore } from 'mcp-job-tools/stores/lmdb'
import { survey } from './support/survey-tool.js'

const jobs = createJobTools({
  tools: [survey],
  store: lmdbStore({ path: process.env.STORE ?? './jobs.lmdb' }),
  onEvent: (event) => {
    if (event.type === 'ended') console.error(`task ${event.taskId}: ${event.status}, ${event.message}`)
  },
})
await jobs.serveStdio({ name: 'stdio-example', version: '1.0.0' })
