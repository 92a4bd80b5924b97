/*
 * Type tests: `tsc` checks this file. A line under `@ts-expect-error` must not compile; if it ever does, the check fails.
 */
import { defineJobTool, type JobAdapter } from 'mcp-job-tools'
import { type HttpJobDefinition, type HttpLook, type HttpRef, httpJob } from 'mcp-job-tools/adapters/http'
import { z } from 'zod'

const definition: HttpJobDefinition = {
  baseUrl: 'https://farm.example',
  create: { method: 'POST', path: '/jobs', id: 'id' },
  get: { path: '/jobs/{ref.id}' },
  status: (body, { status, headers, ref, key, cancelRequested, also }) => [
    body,
    status,
    headers,
    ref,
    key,
    cancelRequested,
    also,
  ],
  states: { done: 'succeeded' },
}
const job = httpJob(definition)

// It fits whatever the tool's input is, without annotations.
interface Scene {
  scene: string
}
const scenes: z.ZodType<Scene> = z.object({ scene: z.string() })
defineJobTool({ name: 'a', input: z.object({ scene: z.string() }), job })
defineJobTool({ name: 'a', input: scenes, job })
defineJobTool({ name: 'a', input: z.object({ scene: z.string().optional(), n: z.coerce.number() }), job })
defineJobTool({ name: 'a', input: z.looseObject({}), job })
defineJobTool({ name: 'a', input: z.record(z.string(), z.unknown()), job })
defineJobTool({ name: 'a', input: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), job })

// It is an adapter like any other: a member may be replaced, the others kept.
const own: JobAdapter<Scene, HttpRef, HttpLook> = {
  ...job,
  read: (look) => ({ ...look.reading, pollIntervalMs: 2_000 }),
}
defineJobTool({ name: 'a', input: scenes, job: own })

// @ts-expect-error an input that is no object
defineJobTool({ name: 'a', input: z.string(), job })
// @ts-expect-error a member that there is not
httpJob({ ...definition, stats: {} })
// @ts-expect-error a member of a request that there is not
httpJob({ ...definition, cancel: { method: 'POST', path: '/x', boddy: {} } })
// @ts-expect-error a request without a path
httpJob({ ...definition, cancel: { method: 'POST' } })
// @ts-expect-error a question without accept
httpJob({ ...definition, questions: { list: 'a', key: 'b', message: 'c' } })
