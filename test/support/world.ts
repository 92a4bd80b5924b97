import {
  createJobTools,
  defineJobTool,
  type JobEvent,
  type JobTool,
  type JobTools,
  type JobToolsOptions,
  type PolicyOptions,
} from 'mcp-job-tools'
import { type HttpJobDefinition, httpJob } from 'mcp-job-tools/adapters/http'
import { type FaultyUpstream, faultyUpstream } from 'mcp-job-tools/testing'
import { afterEach } from 'vitest'
import { z } from 'zod'
import { type Answered, type Declares, rpc } from './rpc.js'
import { type Served, serve } from './serve.js'
import { usualJob } from './usual-job.js'

export { usualJob } from './usual-job.js'

/** A job server, a set of job tools over it, and real HTTP in between. Everything is closed after the test. */
export interface World {
  readonly up: FaultyUpstream
  readonly jobs: JobTools
  readonly url: string
  readonly events: JobEvent[]
  /** The clock of the job tools; tests move it. */
  readonly clock: { now: number }
  call(args?: Record<string, unknown>, declares?: Declares, tool?: string): Promise<Answered>
  get(taskId: unknown, declares?: Declares): Promise<Answered>
  update(taskId: unknown, inputResponses: Record<string, unknown>, declares?: Declares): Promise<Answered>
  cancel(taskId: unknown, declares?: Declares): Promise<Answered>
  /** Calls and answers the task's id. */
  start(args?: Record<string, unknown>, declares?: Declares): Promise<string>
  /** Looks until the status is this; moves the clock by the poll interval in between. */
  until(taskId: string, status: string, declares?: Declares): Promise<Answered>
  /** Events of one type. */
  eventsOf<Type extends JobEvent['type']>(type: Type): Extract<JobEvent, { type: Type }>[]
}

/** What a test changes of the usual world. */
export interface WorldOptions {
  policy?: PolicyOptions
  /** Changes to the usual job description. */
  job?: Partial<HttpJobDefinition>
  /** Other tools than the usual one, over the upstream's URL. */
  tools?: (url: string) => JobTool[]
  options?: Partial<JobToolsOptions>
  /** An upstream and a store that another world made: a second replica, or a restart. */
  up?: FaultyUpstream
  clock?: { now: number }
}

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  // All at once: what hangs in an upstream lets go when the upstream ends.
  await Promise.all(open.splice(0).map((close) => close()))
})

/** Closes something after the test. */
export function closing(close: () => Promise<void>): void {
  open.push(close)
}

/** Builds a world. */
export async function world(options: WorldOptions = {}): Promise<World> {
  const up = options.up ?? (await faultyUpstream())
  if (!options.up) closing(() => up.close())
  const clock = options.clock ?? { now: Date.now() }
  const events: JobEvent[] = []
  const input = z.object({ scene: z.string().default('intro') })
  const usual = () => [
    defineJobTool({ name: 'render', input, job: httpJob(usualJob(up.url, options.job)), ...options.policy }),
  ]
  const jobs = createJobTools({
    tools: options.tools?.(up.url) ?? usual(),
    store: new Map(),
    now: () => clock.now,
    onEvent: (event) => void events.push(event),
    ...options.options,
  })
  closing(() => jobs.close())
  const served: Served = await serve(jobs.handler({ name: 'test', version: '1.0.0' }))
  closing(() => served.close())
  const { url } = served
  const it: World = {
    up,
    jobs,
    url,
    events,
    clock,
    call: (args = {}, declares, tool = 'render') => rpc(url, 'tools/call', { name: tool, arguments: args }, declares),
    get: (taskId, declares) => rpc(url, 'tasks/get', { taskId }, declares),
    update: (taskId, inputResponses, declares) => rpc(url, 'tasks/update', { taskId, inputResponses }, declares),
    cancel: (taskId, declares) => rpc(url, 'tasks/cancel', { taskId }, declares),
    start: async (args, declares) => {
      const { result, error } = await it.call(args, declares)
      if (result?.resultType !== 'task') throw new Error(`no task: ${JSON.stringify(result ?? error)}`)
      return result.taskId
    },
    until: async (taskId, status, declares) => {
      for (let look = 0; look < 2_000; look++) {
        const answer = await it.get(taskId, declares)
        if (answer.result?.status === status || answer.error) return answer
        clock.now += answer.result.pollIntervalMs
      }
      throw new Error(`the task never became ${status}`)
    },
    eventsOf: (type) => events.filter((event) => event.type === type) as never,
  }
  return it
}
