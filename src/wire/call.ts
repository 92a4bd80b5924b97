import { ProtocolError, ProtocolErrorCode, type Result, type ServerContext } from '@modelcontextprotocol/server'
import type { Answers } from '../define/index.js'
import { type Caller, type Engine, isOver, type ResolvedTool, type TaskView } from '../engine/index.js'
import { methodNotFound, tasksRequired } from './errors.js'
import { finishedResult, type PlainResult, plain, unfinishedResult } from './plain.js'
import type { ClientFacts } from './request.js'
import { createTaskResult } from './tasks.js'
import { createTaskResult2025 } from './tasks-2025.js'

/** One call of a job tool, once its questions are answered. */
export interface JobCall {
  engine: Engine
  tool: ResolvedTool
  input: unknown
  caller: Caller
  client: ClientFacts
  ctx: ServerContext
  answers: Answers
  /** An id that a nonce was claimed for. */
  id?: string | undefined
  handleTools: boolean
  /** The call asked for a task as revision 2025-11-25 has them. */
  asTask: boolean
}

/** Refuses a call that this client may not make. @throws ProtocolError. */
export function admit(tool: ResolvedTool, client: ClientFacts): void {
  if (tool.policy.withoutTasks !== 'reject' || client.declaresTasks) return
  throw client.modern ? tasksRequired(`The tool "${tool.name}"`) : methodNotFound()
}

/** Starts the job and answers as the client can take it: a task, a plain result, or a bounded wait. */
export async function serveCall(call: JobCall): Promise<Result> {
  const { engine, tool, caller, client } = call
  const started = performance.now()
  const outcome = await engine.start(tool, call.input, caller, call.answers, call.id)
  if (outcome.kind === 'result') {
    // A client that asked for a 2025 task can read nothing else: what went wrong is then an error.
    if (call.asTask) throw new ProtocolError(ProtocolErrorCode.InternalError, textOf(plain(outcome.result)))
    return plain(outcome.result)
  }
  return answerFor(call, outcome.view, tool, client, performance.now() - started)
}

/** Answers a call with the state of a task that exists. */
export async function answerFor(
  call: JobCall,
  view: TaskView,
  tool: ResolvedTool,
  client: ClientFacts,
  spentMs = 0,
): Promise<Result> {
  const { immediateMs, withoutTasks, waitMs } = tool.policy
  if (call.asTask) return createTaskResult2025(view)
  if (client.declaresTasks) {
    const now = immediateMs > 0 ? await follow(call, view, immediateMs - spentMs) : view
    return isOver(now.status) && immediateMs > 0 ? finishedResult(now) : createTaskResult(now, client)
  }
  const now = withoutTasks === 'handle' ? view : await follow(call, view, waitMs - spentMs)
  return isOver(now.status) ? finishedResult(now) : unfinishedResult(now, call.handleTools)
}

function textOf(result: PlainResult): string {
  return result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n')
}

function follow(call: JobCall, view: TaskView, ms: number): Promise<TaskView> {
  if (ms <= 0) return Promise.resolve(view)
  return call.engine.wait(view.taskId, call.caller, {
    ms,
    signal: call.ctx.mcpReq.signal,
    onChange: progressReporter(call.ctx),
  })
}

/** Progress notifications for the call that waits, where the client asked for them. Their `progress` only ever grows. */
function progressReporter(ctx: ServerContext): ((view: TaskView) => void) | undefined {
  const progressToken = ctx.mcpReq._meta?.progressToken
  if (progressToken === undefined) return undefined
  let last = 0
  return (view) => {
    const done = view.progress?.done ?? 0
    last = done > last ? done : last + 0.001
    const total = view.progress ? (view.progress.total ?? 100) : undefined
    const params = {
      progressToken,
      progress: last,
      ...(total === undefined ? {} : { total }),
      message: view.statusMessage,
    }
    // A client that went away is noticed by the wait itself.
    ctx.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
}
