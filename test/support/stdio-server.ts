/* A stdio server for tests: the usual job over UPSTREAM, tasks in the LMDB file STORE. */
import { createJobTools, defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { lmdbStore } from 'mcp-job-tools/stores/lmdb'
import { z } from 'zod'
import { usualJob } from './usual-job.js'

const jobs = createJobTools({
  tools: [
    defineJobTool({
      name: 'render',
      input: z.object({ scene: z.string() }),
      job: httpJob(usualJob(process.env.UPSTREAM ?? '')),
      pollIntervalMs: 50,
      minPollIntervalMs: 20,
    }),
  ],
  store: lmdbStore({ path: process.env.STORE ?? '' }),
})
await jobs.serveStdio({ name: 'test', version: '1.0.0' })
