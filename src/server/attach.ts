import type { McpServer, Result, Server, ServerContext } from '@modelcontextprotocol/server'
import type { Caller, Engine, ResolvedTool } from '../engine/index.js'
import {
  type AskCodec,
  admit,
  answerFor,
  anyParams,
  askFirst,
  clientFacts,
  type JobCall,
  notifyStatus2025,
  registerHandleTools,
  serveCall,
  shapeListing,
  TASKS_EXTENSION,
  taskCapabilities2025,
  taskMethods,
  toProtocolError,
} from '../wire/index.js'
import { type Handler, Seam } from './seam.js'

/** What a set of job tools brings to a server. */
export interface Host {
  readonly tools: ReadonlyMap<string, ResolvedTool>
  readonly handleTools: boolean
  /** Whether the store can list an owner's tasks. */
  readonly canList: boolean
  readonly engine: () => Promise<Engine>
  readonly caller: (ctx: ServerContext) => Caller
  readonly askCodec: () => Promise<AskCodec>
  readonly warn: (message: string) => void
}

/**
 * What one call of a job tool leaves for our outer handler. It rides through the SDK's own handler on the request's context: a
 * symbol survives the copies the SDK makes of it.
 */
interface Slot {
  /** The state the client sent, before the host's own verification could see it. */
  requestState: unknown
  /** The call asked for a task as revision 2025-11-25 has them. */
  task: boolean
  value?: Result
  error?: Error
}
const SLOT = Symbol('mcp-job-tools.slot')
type Carrier = ServerContext['mcpReq'] & { [SLOT]?: Slot }

/** Handlers that some set of ours put on some server. */
const ours = new WeakSet<Handler>()
const REPLACED =
  'Another `tools/call` handler was set after jobs.attach(server), so job tools cannot be served. ' +
  'Set your own handler first, then attach.'

/**
 * Puts the tools on a server. Everything else on it stays as it is.
 * @throws Error when the server is connected already, or when a tool's name is taken.
 */
export function attachTo(host: Host, mcp: McpServer): void {
  const { server } = mcp
  if (mcp.isConnected()) throw new Error('jobs.attach(server) must come before the server is connected to a transport.')
  server.registerCapabilities({ extensions: { [TASKS_EXTENSION]: {} }, ...taskCapabilities2025(host.canList) })
  for (const tool of host.tools.values()) registerJobTool(host, mcp, tool)
  if (host.handleTools) registerHandles(host, mcp)
  replaceCall(host, server)
  replaceList(host, server)
  const methods = taskMethods({ server, engine: host.engine, caller: host.caller })
  for (const [method, handler] of Object.entries(methods)) chainTaskMethod(server, method, handler)
}

function registerHandles(host: Host, mcp: McpServer): void {
  try {
    registerHandleTools(mcp, host)
  } catch (cause) {
    throw new Error(
      'job_status, job_cancel and job_answer cannot be registered: a tool of one of these names exists. ' +
        'Where another set of job tools has them already, create this one with handleTools: false.',
      { cause },
    )
  }
}

function registerJobTool(host: Host, mcp: McpServer, tool: ResolvedTool): void {
  const { name, title, description, annotations, meta } = tool
  const config = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    // The SDK's schema types ask for a JSON Schema that defineJobTool has seen work.
    inputSchema: tool.input as never,
    ...(tool.output ? { outputSchema: tool.output as never } : {}),
    ...(annotations ? { annotations } : {}),
    ...(meta ? { _meta: meta } : {}),
  }
  const run = async (input: unknown, ctx: ServerContext) => {
    const slot = (ctx.mcpReq as Carrier)[SLOT]
    if (!slot) throw new Error(REPLACED)
    try {
      return await callTool(host, mcp.server, tool, input, ctx, slot)
    } catch (error) {
      // The SDK would turn it into an `isError` result: a protocol error must reach the wire as one.
      slot.error = toProtocolError(error)
      return { content: [] }
    }
  }
  mcp.registerTool(name, config, run as never)
}

async function callTool(
  host: Host,
  server: Server,
  tool: ResolvedTool,
  input: unknown,
  ctx: ServerContext,
  slot: Slot,
) {
  const client = clientFacts(server, ctx)
  // A 2026 request may carry a stray `task`: it means nothing there.
  const asTask = slot.task && !client.modern
  if (!asTask) admit(tool, client)
  const caller = host.caller(ctx)
  const engine = await host.engine()
  const call: JobCall = { engine, tool, input, caller, client, ctx, answers: {}, handleTools: host.handleTools, asTask }
  const asked = await askFirst({ ...call, codec: host.askCodec, requestState: slot.requestState })
  if (asked.kind === 'reply') return asked.reply
  slot.value =
    asked.kind === 'again'
      ? await answerFor(call, await engine.look(asked.id, caller), tool, client)
      : await serveCall({ ...call, answers: asked.answers, id: asked.id })
  const { task } = slot.value as { task?: { taskId: string } }
  if (task && ctx.http === undefined) notifyStatus2025(server, engine, task.taskId)
  return { content: [] }
}

/** Job tools' calls ride through the taken handler, so that all the SDK's checks stay in force; other calls pass untouched. */
function replaceCall(host: Host, server: Server): void {
  const taken = Seam.take(server, 'tools/call')
  if (!taken) throw new Error('The server has no tools/call handler to build on.')
  const handler: Handler = async (request, ctx) => {
    if (!host.tools.has(String(request.params?.name))) return taken(request, ctx)
    const slot: Slot = { requestState: ctx.mcpReq.requestState(), task: isObject(request.params?.task) }
    // The host may verify *its* request state; ours would be refused before our code runs.
    const mcpReq: Carrier = { ...ctx.mcpReq, requestState: () => undefined, [SLOT]: slot }
    const result = await taken(request, { ...ctx, mcpReq })
    if (slot.error) throw slot.error
    return slot.value ?? result
  }
  ours.add(handler)
  Seam.put(server, 'tools/call', anyParams.params, handler)
}

function replaceList(host: Host, server: Server): void {
  const taken = Seam.take(server, 'tools/list')
  if (!taken) throw new Error('The server has no tools/list handler to build on.')
  const jobs = new Map(
    [...host.tools].map(
      ([name, tool]) => [name, tool.policy.withoutTasks === 'reject' ? 'required' : 'optional'] as const,
    ),
  )
  const names = { jobs, handleTools: host.handleTools }
  const handler: Handler = async (request, ctx) => {
    const current = Seam.take(server, 'tools/call')
    if (current && !ours.has(current)) {
      host.warn(REPLACED)
      throw new Error(REPLACED)
    }
    return shapeListing(await taken(request, ctx), names, clientFacts(server, ctx))
  }
  Seam.put(server, 'tools/list', anyParams.params, handler)
}

/** Two sets on one server: a task that the newer does not know may be the older's. */
function chainTaskMethod(
  server: Server,
  method: string,
  own: (params: Record<string, unknown>, ctx: ServerContext) => Promise<Result>,
): void {
  const earlier = Seam.take(server, method)
  const handler: Handler = async (request, ctx) => {
    try {
      return await own(request.params ?? {}, ctx)
    } catch (error) {
      if (!earlier || !isUnknownTask(error)) throw error
      return earlier(request, ctx)
    }
  }
  Seam.put(server, method, anyParams.params, handler)
}

function isUnknownTask(error: unknown): boolean {
  return error instanceof Error && error.message === 'Task not found'
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
