import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { JobTool } from 'mcp-job-tools'
import { openTaskSession, type TaskSession } from '../../examples/support/task-session.js'
import type { Answered } from '../support/rpc.js'
import { closing, type World, world } from '../support/world.js'

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

/** Runs an example as a desktop host would, over standard input and output, and connects the official client. */
export async function overStdio(file: string, env: Record<string, string>): Promise<TaskSession> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const folder = await mkdtemp(join(tmpdir(), 'mcp-job-tools-'))
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--import', 'tsx', join(root, 'examples', file)],
    cwd: root,
    env: { ...(process.env as Record<string, string>), STORE: join(folder, 'jobs.lmdb'), ...env },
  })
  const session = await openTaskSession({ transport, endpointId: file })
  closing(async () => {
    await session.close()
    await rm(folder, { recursive: true, force: true })
  })
  return session
}
