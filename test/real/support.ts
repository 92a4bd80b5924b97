import type { JobTool } from 'mcp-job-tools'
import type { Answered } from '../support/rpc.js'
import { type World, world } from '../support/world.js'

const SPEED = 40
const LOOK_EVERY_MS = 25

/** A world over a real server. Its clock runs fast, so that the wait between two looks is short and no deadline is near. */
export function realWorld(...tools: JobTool[]): Promise<World> {
  const began = Date.now()
  const clock = {
    get now() {
      return began + (Date.now() - began) * SPEED
    },
    set now(_: number) {},
  }
  return world({ tools: () => tools, clock })
}

/** Looks at a task until the predicate holds. @throws Error when the look itself fails, or the task is over without it. */
export async function follow(
  it: World,
  taskId: string,
  predicate: (task: { status: string; statusMessage: string }) => boolean,
): Promise<Answered> {
  for (;;) {
    const answer = await it.get(taskId)
    if (answer.result && predicate(answer.result)) return answer
    if (answer.error || ['completed', 'failed', 'cancelled'].includes(answer.result.status)) {
      throw new Error(`the task ended otherwise: ${answer.text}`)
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

/** Looks at a task until it has this status. */
export const followTo = (it: World, taskId: string, status: string): Promise<Answered> =>
  follow(it, taskId, (task) => task.status === status)

/** Calls a tool. @returns the task's id. @throws Error when the answer is no task. */
export async function begin(it: World, tool: string, args: Record<string, unknown>): Promise<string> {
  const { result, text } = await it.call(args, {}, tool)
  if (result?.resultType !== 'task') throw new Error(`no task: ${text}`)
  return result.taskId
}
