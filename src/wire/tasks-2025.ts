import {
  ProtocolError,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
  type Result,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { type Caller, type Engine, isOver, type ShownQuestion, type TaskView } from '../engine/index.js'
import { elicitation } from './elicitation.js'
import { invalidParams, toProtocolError } from './errors.js'
import { finishedResult } from './plain.js'
import { type ClientFacts, clientFacts } from './request.js'

/*
 * Tasks of revision 2025-11-25, for the clients that speak it: `params.task` on the call, and `tasks/get`, `tasks/result`,
 * `tasks/list` and `tasks/cancel` by the rules of that revision.
 */

const PAGE = 50

/** What a server declares for these clients. */
export function taskCapabilities2025(canList: boolean) {
  return { tasks: { ...(canList ? { list: {} } : {}), cancel: {}, requests: { tools: { call: {} } } } }
}

/** A task as revision 2025-11-25 writes it. There, a call whose result is an error is a failed task. */
function task2025(view: TaskView) {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = view
  const failed = status === 'completed' && view.result?.isError === true
  return {
    taskId,
    status: failed ? ('failed' as const) : status,
    ...(statusMessage ? { statusMessage } : {}),
    createdAt,
    lastUpdatedAt,
    ttl: ttlMs,
    pollInterval: pollIntervalMs,
  }
}

const related = (taskId: string) => ({ [RELATED_TASK_META_KEY]: { taskId } })

/** The answer to a call that asked for a task. */
export function createTaskResult2025(view: TaskView): Result {
  return { task: task2025(view) }
}

/**
 * Tells a connection that lasts (stdio) of each change of a task it made, until the task is over or the connection is.
 * Notifications are optional in this revision: clients poll all the same.
 */
export function notifyStatus2025(server: Server, engine: Engine, taskId: string): void {
  const stop = engine.watches.follow(taskId, (view) => {
    const params = { ...task2025(view), _meta: related(taskId) }
    server.notification({ method: 'notifications/tasks/status', params }).catch(() => stop())
  })
}

/** What these methods need of the server they are on. */
export interface Methods2025 {
  server: Server
  engine: () => Promise<Engine>
  caller: (ctx: ServerContext) => Caller
}

type Params = Record<string, unknown>

/** Questions that are being put to a client, by task and key: each is put once at a time. */
type Asking = Set<string>

/** The methods of revision 2025-11-25. Each throws ProtocolError. */
export function taskHandlers2025(methods: Methods2025) {
  const { server } = methods
  const asking: Asking = new Set()
  const look = async (params: Params, ctx: ServerContext) => {
    const engine = await methods.engine()
    const caller = methods.caller(ctx)
    const view = await engine.look(params.taskId, caller)
    if (view.status === 'input_required') putQuestions(engine, caller, view, ctx, clientFacts(server, ctx), asking)
    return { engine, caller, view }
  }
  const guarded =
    (run: (params: Params, ctx: ServerContext) => Promise<Result>) => async (params: Params, ctx: ServerContext) => {
      try {
        return await run(params, ctx)
      } catch (error) {
        throw toProtocolError(error)
      }
    }
  return {
    'tasks/get': guarded(async (params, ctx) => task2025((await look(params, ctx)).view)),
    'tasks/result': guarded(async (params, ctx) => {
      const { engine, caller, view } = await look(params, ctx)
      // Hosts give up a request after 60 seconds: past the tool's own bound, the answer is that the job still runs.
      const ms = engine.deps.tools.get(view.tool)?.policy.waitMs ?? 0
      const last = isOver(view.status)
        ? view
        : await engine.wait(view.taskId, caller, { ms, signal: ctx.mcpReq.signal })
      return resultOf(last)
    }),
    'tasks/cancel': guarded(async (params, ctx) => {
      const engine = await methods.engine()
      const caller = methods.caller(ctx)
      const before = await engine.look(params.taskId, caller)
      if (isOver(before.status)) throw invalidParams(`Cannot cancel the task: it is ${before.status} already`)
      return task2025(await engine.cancelAndEnd(params.taskId, caller))
    }),
    'tasks/list': guarded(async (params, ctx) => {
      const engine = await methods.engine()
      const page = await engine.list(
        methods.caller(ctx),
        typeof params.cursor === 'string' ? params.cursor : undefined,
        PAGE,
      )
      return { tasks: page.views.map(task2025), ...(page.next ? { nextCursor: page.next } : {}) }
    }),
  }
}

function resultOf(view: TaskView): Result {
  if (!isOver(view.status)) {
    const why = view.status === 'input_required' ? 'waits for an answer' : 'is still running'
    throw new ProtocolError(
      ProtocolErrorCode.InternalError,
      `The job ${why}: ${view.statusMessage} Poll tasks/get, then ask for the result again.`,
    )
  }
  if (view.status === 'failed')
    throw new ProtocolError(
      view.error?.code ?? ProtocolErrorCode.InternalError,
      view.error?.message ?? view.statusMessage,
      view.error?.data,
    )
  if (view.status === 'cancelled')
    throw new ProtocolError(ProtocolErrorCode.InternalError, `The task was cancelled: ${view.statusMessage}`)
  const result = finishedResult(view)
  return { ...result, _meta: { ...result._meta, ...related(view.taskId) } }
}

/**
 * Puts open questions to the client by `elicitation/create`. Only where the connection lasts (stdio): over stateless HTTP the
 * answer would come to another instance, so there the message and `job_answer` carry on.
 */
function putQuestions(
  engine: Engine,
  caller: Caller,
  view: TaskView,
  ctx: ServerContext,
  client: ClientFacts,
  asking: Asking,
): void {
  if (ctx.http !== undefined) return
  for (const question of view.questions) {
    const name = `${view.taskId} ${question.key}`
    const able = question.url === undefined ? client.canAskForm : client.canAskUrl
    if (!able || asking.has(name)) continue
    asking.add(name)
    ask(engine, caller, view.taskId, question, ctx)
      .catch(() => undefined)
      .finally(() => asking.delete(name))
  }
}

async function ask(
  engine: Engine,
  caller: Caller,
  taskId: string,
  question: ShownQuestion,
  ctx: ServerContext,
): Promise<void> {
  const { method, params } = elicitation(question)
  const request = { method, params: { ...params, _meta: related(taskId) } }
  // A person takes the time that a person takes.
  const response = await ctx.mcpReq.send(request, { timeout: 2 ** 31 - 1 })
  await engine.answer(taskId, caller, Object.fromEntries([[question.key, response]]))
}
