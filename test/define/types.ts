/*
 * Type tests: `tsc` checks this file. A line under `@ts-expect-error` must not compile; if it ever does, the check fails.
 */
import { defineJobTool, type JobAdapter, type Reading } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { z } from 'zod'

interface RunRef {
  runId: number
  attempt: string
}
interface Run {
  status: string
}

const runs: JobAdapter<{ workflow: string }, RunRef, Run> = {
  create: async (input) => ({ runId: input.workflow.length, attempt: '1' }),
  get: async (ref) => ({ status: ref.attempt }),
  read: (run, ctx) => ({ phase: run.status === 'done' ? 'succeeded' : 'working', ref: { ...ctx.ref, runId: 2 } }),
  cancel: async (ref) => void ref.runId,
  answer: async (ref, question, answer) => (answer.action === 'accept' ? { ...ref, attempt: question.key } : undefined),
  result: async (_ref, run) => ({ structured: { status: run.status } }),
}

defineJobTool({ name: 'a', input: z.object({ workflow: z.string() }), job: runs })
defineJobTool({
  name: 'a',
  input: z.object({ workflow: z.string().default('ci') }),
  output: z.object({ status: z.string() }),
  job: runs,
})

// @ts-expect-error the input's member has another type than the adapter needs
defineJobTool({ name: 'a', input: z.object({ workflow: z.number() }), job: runs })
// @ts-expect-error the input lacks what the adapter needs
defineJobTool({ name: 'a', input: z.object({ other: z.string() }), job: runs })
// @ts-expect-error an unknown option
defineJobTool({ name: 'a', input: z.object({ workflow: z.string() }), job: runs, pollInterval: 5 })
// @ts-expect-error a word that is no way without tasks
defineJobTool({ name: 'a', input: z.object({ workflow: z.string() }), job: runs, withoutTasks: 'block' })
// @ts-expect-error an input that is no schema
defineJobTool({ name: 'a', input: { workflow: 'string' }, job: runs })

// The ref and job types flow through an adapter written in place.
defineJobTool({
  name: 'b',
  input: z.object({ n: z.number() }),
  job: {
    create: async (input) => ({ run: input.n.toFixed() }),
    get: async (ref) => ({ word: ref.run.toUpperCase() }),
    read: (job) => ({ phase: 'working', message: job.word.trim() }),
  },
  ask: (input) => (input.n.toFixed() === '1' ? [{ key: 'sure', message: 'Sure?' }] : undefined),
})
defineJobTool({
  name: 'b',
  input: z.object({ n: z.number() }),
  job: {
    // @ts-expect-error the input has no such member
    create: async (input) => ({ run: input.missing }),
    get: async () => ({}),
    read: () => ({ phase: 'working' }),
  },
})

defineJobTool({
  name: 'c',
  input: z.object({}),
  job: {
    // @ts-expect-error a ref holds only strings and numbers
    create: async () => ({ at: new Date() }),
    get: async () => ({}),
    read: () => ({ phase: 'working' }),
  },
})
// @ts-expect-error an unknown phase
export const wrongPhase: Reading<RunRef> = { phase: 'done' }

// A declarative adapter needs no annotation.
defineJobTool({
  name: 'd',
  input: z.object({ scene: z.string() }),
  job: httpJob({
    baseUrl: 'https://farm.example',
    create: { method: 'POST', path: '/jobs', id: 'id' },
    get: { path: '/jobs/{ref.id}' },
    status: 'status',
    states: { done: 'succeeded' },
  }),
})
httpJob({
  baseUrl: 'https://farm.example',
  create: { method: 'POST', path: '/jobs', id: 'id' },
  get: { path: '/jobs/{ref.id}' },
  status: 'status',
  // @ts-expect-error an unknown phase in the table of states
  states: { done: 'completed' },
})
