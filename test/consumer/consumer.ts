/* Compiled and run against the packed tarball: what a user's first file looks like. */
import { createJobTools, DefinitionError, defineJobTool, type JobAdapter, JobToolsError } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { lmdbStore } from 'mcp-job-tools/stores/lmdb'
import { faultyUpstream } from 'mcp-job-tools/testing'
import { z } from 'zod'

const own: JobAdapter<{ n: number }, { id: string }, { state: string }> = {
  create: async (input) => ({ id: input.n.toFixed() }),
  get: async (ref) => ({ state: ref.id }),
  read: (job) => ({ phase: 'working', message: job.state }),
}
const upstream = await faultyUpstream()
const jobs = createJobTools({
  tools: [
    defineJobTool({ name: 'own', input: z.object({ n: z.number() }), job: own }),
    defineJobTool({
      name: 'declared',
      input: z.object({ scene: z.string() }),
      output: z.object({ url: z.string() }),
      job: httpJob({
        baseUrl: upstream.url,
        create: { method: 'POST', path: '/jobs', body: { scene: '{input.scene}' }, id: 'id' },
        get: { path: '/jobs/{ref.id}' },
        status: 'status',
        states: { queued: 'working', done: 'succeeded' },
      }),
    }),
  ],
  store: new Map(),
})
const handler = jobs.handler({ name: 'consumer', version: '1.0.0' })
const answer = await handler.fetch(
  new Request('http://localhost/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  }),
)
const text = await answer.text()
if (!text.includes('"declared"')) throw new Error(`the package does not list its tools: ${text}`)

let refused: unknown
try {
  defineJobTool({ name: '', input: z.object({ n: z.number() }), job: own })
} catch (error) {
  refused = error
}
if (!(refused instanceof DefinitionError) || !JobToolsError.isInstance(refused))
  throw new Error('errors differ between entry points')
if (typeof lmdbStore !== 'function') throw new Error('the LMDB store is missing')
await jobs.close()
await upstream.close()
console.log('The packed package works.')
