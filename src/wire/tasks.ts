import type { Result, Server, ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Caller, Engine, TaskView } from '../engine/index.js'
import { elicitation, forClient } from './elicitation.js'
import { invalidParams, methodNotFound, tasksRequired, toProtocolError } from './errors.js'
import { type ClientFacts, clientFacts } from './request.js'
import { taskHandlers2025 } from './tasks-2025.js'

/** The members that `CreateTaskResult` and `tasks/get` share (SEP-2663). */
function taskMembers(view: TaskView) {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = view
  return {
    taskId,
    status,
    ...(statusMessage ? { statusMessage } : {}),
    createdAt,
    lastUpdatedAt,
    ttlMs,
    pollIntervalMs,
  }
}

/** `CreateTaskResult`: the flat handle, and nothing of the state's details. */
export function createTaskResult(view: TaskView, client: ClientFacts) {
  return { resultType: 'task' as const, ...taskMembers(forClient(view, client)) }
}

/** The whole state of a task, as `tasks/get` answers it. */
export function detailedTask(view: TaskView, client: ClientFacts) {
  const shown = forClient(view, client)
  return { ...taskMembers(shown), ...details(shown) }
}

function details(view: TaskView) {
  switch (view.status) {
    case 'input_required':
      // A key comes from the upstream: on an object without prototype, none of them is special.
      return {
        inputRequests: Object.assign(
          Object.create(null),
          Object.fromEntries(view.questions.map((question) => [question.key, elicitation(question)])),
        ),
      }
    case 'completed':
      // What the call would have answered: the official client takes it for a failure without its own resultType.
      return { result: { resultType: 'complete' as const, ...view.result } }
    case 'failed':
      return { error: view.error ?? { code: -32603, message: view.statusMessage } }
    default:
      return {}
  }
}

/** Params are judged by the handlers themselves, so that a strange id is answered in the same words as an unknown one. */
export const anyParams = { params: z.looseObject({}) }

/** What the task methods need of the server they are on. */
export interface TaskMethods {
  server: Server
  engine: () => Promise<Engine>
  caller: (ctx: ServerContext) => Caller
}

type Params = Record<string, unknown>

/** A handler of one method, as `setRequestHandler` takes it. */
export type TaskHandler = (params: Params, ctx: ServerContext) => Promise<Result>

/**
 * The task methods of both revisions, by name: the connection's revision says which one serves a request. A method that the
 * revision does not have is `-32601`.
 */
export function taskMethods(methods: TaskMethods): Record<string, TaskHandler> {
  const modern: Record<string, TaskHandler> = taskHandlers(methods)
  const older: Record<string, TaskHandler> = taskHandlers2025(methods)
  const names = [...new Set([...Object.keys(modern), ...Object.keys(older)])]
  return Object.fromEntries(
    names.map((name) => [
      name,
      async (params: Params, ctx: ServerContext) => {
        const handler = (clientFacts(methods.server, ctx).modern ? modern : older)[name]
        if (!handler) throw methodNotFound()
        return handler(params, ctx)
      },
    ]),
  )
}

/** The three methods of the extension. */
function taskHandlers(methods: TaskMethods) {
  const gate = (method: string, ctx: ServerContext): ClientFacts => {
    const client = clientFacts(methods.server, ctx)
    if (!client.declaresTasks) throw tasksRequired(method)
    return client
  }
  const guarded =
    (method: string, run: (params: Params, ctx: ServerContext, client: ClientFacts) => Promise<Params>) =>
    async (params: Params, ctx: ServerContext): Promise<Params> => {
      try {
        return await run(params, ctx, gate(method, ctx))
      } catch (error) {
        throw toProtocolError(error)
      }
    }
  return {
    'tasks/get': guarded('tasks/get', async (params, ctx, client) => {
      const engine = await methods.engine()
      const view = await engine.look(params.taskId, methods.caller(ctx))
      return { resultType: 'complete', ...detailedTask(view, client) }
    }),
    'tasks/update': guarded('tasks/update', async (params, ctx) => {
      const engine = await methods.engine()
      const responses = responsesOf(ctx)
      await engine.answer(params.taskId, methods.caller(ctx), responses ?? {})
      // Judged after the id: whether a task exists must not show in what else is said to be wrong.
      if (!responses) throw invalidParams('inputResponses must be an object of elicitation results by key')
      return { resultType: 'complete' }
    }),
    'tasks/cancel': guarded('tasks/cancel', async (params, ctx) => {
      const engine = await methods.engine()
      await engine.cancel(params.taskId, methods.caller(ctx))
      return { resultType: 'complete' }
    }),
  }
}

/** The SDK lifts `inputResponses` out of the params, and leaves out what is no bare result: that is put back, to be refused. */
function responsesOf(ctx: ServerContext): Params | undefined {
  const { inputResponses, droppedInputResponseKeys = [] } = ctx.mcpReq
  if (!inputResponses && droppedInputResponseKeys.length === 0) return undefined
  return Object.fromEntries([
    ...Object.entries(inputResponses ?? {}),
    ...droppedInputResponseKeys.map((key) => [key, undefined]),
  ])
}
