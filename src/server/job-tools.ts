import { randomBytes } from 'node:crypto'
import {
  type CreateMcpHandlerOptions,
  createMcpHandler,
  type McpHttpHandler,
  type McpServer,
  type McpServerFactory,
} from '@modelcontextprotocol/server'
import type { ServeStdioOptions, StdioServerHandle } from '@modelcontextprotocol/server/stdio'
import { checkPolicy, type JobTool, type PolicyOptions, resolvePolicy } from '../define/index.js'
import { type Deps, Engine, type JobEvent, type ResolvedTool, type SweepReport, sweep } from '../engine/index.js'
import { DefinitionError } from '../errors/index.js'
import { createHttpCore } from '../http/index.js'
import { canList, openBackend, Records, type StoreInput } from '../store/index.js'
import { type AskCodec, askCodec } from '../wire/index.js'
import { attachTo, type Host } from './attach.js'
import { type ServerInfo, serverFactory } from './handler.js'
import { withTaskStreams } from './listen-http.js'
import { callerOf, defaultOwner, type OwnerOption, ownerContext } from './owner.js'
import { stdioServer } from './stdio.js'

/** What `createJobTools` takes. */
export interface JobToolsOptions {
  /** Made by `defineJobTool`. */
  tools: readonly JobTool[]
  /** `lmdbStore(...)`, any Keyv instance, or any Keyv storage adapter. Default: memory, which a restart empties. */
  store?: StoreInput | undefined
  /** Who owns the tasks that a request makes. Default: the token's `extra.sub`. */
  owner?: OwnerOption | undefined
  /** Signs the state of `ask` questions: 32 bytes or more, the same on all replicas. Default: random, kept in the store. */
  secret?: string | Uint8Array | undefined
  /** Policy options for all tools; a tool's own win. */
  defaults?: PolicyOptions | undefined
  /** Told of everything that happens. What it throws is ignored. */
  onEvent?: ((event: JobEvent) => void) | undefined
  /** Whether `job_status`, `job_cancel` and `job_answer` are registered. Default true; a second set on one server takes false. */
  handleTools?: boolean | undefined
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?: (() => number) | undefined
  /** Random bytes. Default `crypto.randomBytes`. */
  random?: ((size: number) => Uint8Array) | undefined
}

/** A set of job tools, to be put on servers. */
export interface JobTools {
  /**
   * Adds the tools to a server that is not connected yet. Harmless when repeated.
   * @throws Error when the server is connected, or a name is taken.
   */
  attach(server: McpServer): void
  /**
   * A web handler: over a server of its own (`{ name, version }`) or over your factory.
   * `options` are those of the SDK's `createMcpHandler`.
   */
  handler(server: ServerInfo | McpServerFactory, options?: CreateMcpHandlerOptions): McpHttpHandler
  /**
   * Serves task notifications (`subscriptions/listen` with `taskIds`) under a handler that you already have. `handler` does so by
   * itself.
   */
  wrap(handler: McpHttpHandler): McpHttpHandler
  /** Serves standard input and output, for a desktop host. */
  serveStdio(server: ServerInfo | McpServerFactory, options?: ServeStdioOptions): Promise<StdioServerHandle>
  /** Does what is due on all tasks, where the store can list them. For a cron job; nothing depends on it. */
  sweep(): Promise<SweepReport>
  /** Waits for what is under way, then closes connections and store. */
  close(): Promise<void>
}

const SECRET_BYTES = 32

function resolveTools(
  tools: readonly JobTool[],
  defaults: PolicyOptions | undefined,
): ReadonlyMap<string, ResolvedTool> {
  if (!Array.isArray(tools) || tools.length === 0) {
    throw new DefinitionError({
      field: 'createJobTools tools',
      problem: 'there is no tool',
      remedy: 'Give at least one made by defineJobTool.',
    })
  }
  checkPolicy(undefined, defaults ?? {})
  const resolved = new Map<string, ResolvedTool>()
  for (const tool of tools) {
    if (resolved.has(tool.name)) {
      throw new DefinitionError({
        tool: tool.name,
        field: 'name',
        problem: 'is used twice',
        remedy: 'Rename one of the two tools.',
      })
    }
    resolved.set(tool.name, { ...tool, policy: resolvePolicy(tool.name, tool.policy, defaults) })
  }
  return resolved
}

function checkSecret(secret: string | Uint8Array | undefined): void {
  if (secret === undefined || Buffer.byteLength(secret) >= SECRET_BYTES) return
  throw new DefinitionError({
    field: 'createJobTools secret',
    problem: `has ${Buffer.byteLength(secret)} bytes`,
    remedy: `Give at least ${SECRET_BYTES}, for example 64 hexadecimal digits from \`openssl rand -hex 32\`.`,
  })
}

/**
 * Makes a set of job tools over one store.
 * @throws DefinitionError for a mistake in the options.
 */
export function createJobTools(options: JobToolsOptions): JobTools {
  const { owner = defaultOwner, now = Date.now, random = randomBytes, handleTools = true } = options
  const tools = resolveTools(options.tools, options.defaults)
  checkSecret(options.secret)
  const http = createHttpCore({ now, random: Math.random })
  const pending = new Set<Promise<unknown>>()

  const emit = (event: JobEvent) => {
    try {
      options.onEvent?.(event)
    } catch {
      // An observer must not change what happens.
    }
  }
  const background = (work: Promise<unknown>) => {
    const tracked = work
      .catch((error: unknown) =>
        emit({ type: 'store_fault', reason: http.redact(error instanceof Error ? error.message : String(error)) }),
      )
      .finally(() => pending.delete(tracked))
    pending.add(tracked)
  }

  let opening: Promise<Engine> | undefined
  const open = async (): Promise<Engine> => {
    const backend = await openBackend(options.store, { now })
    if (options.store === undefined) warnVolatile(emit)
    const deps: Deps = { records: new Records(backend, now), http, tools, now, randomBytes: random, emit, background }
    const engine = new Engine(deps)
    // Creates that a crash left behind are settled now; where the store cannot list, at the next look.
    background(sweep(engine, ['new']))
    return engine
  }
  const engine = () => {
    opening ??= open().catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }

  let codec: Promise<AskCodec> | undefined
  const sharedSecret = async (): Promise<string | Uint8Array> => {
    if (options.secret !== undefined) return options.secret
    const fresh = Buffer.from(random(SECRET_BYTES)).toString('base64url')
    return (await engine()).deps.records.claim('secret', fresh, null)
  }
  const host: Host = {
    tools,
    handleTools,
    canList: canList(options.store),
    engine,
    caller: (ctx) => callerOf(owner, ownerContext(ctx.http?.authInfo, ctx.http?.req)),
    askCodec: () => {
      codec ??= sharedSecret().then(askCodec)
      codec.catch(() => {
        codec = undefined
      })
      return codec
    },
    warn: (message) => emit({ type: 'warning', message }),
  }

  const attached = new WeakSet<McpServer>()
  const attach = (server: McpServer) => {
    if (attached.has(server)) return
    attachTo(host, server)
    attached.add(server)
  }
  const listenHost = { engine, owner }
  const wrapped = new Set<McpHttpHandler>()
  const wrap = (inner: McpHttpHandler) => {
    const outer = withTaskStreams(listenHost, inner)
    wrapped.add(outer)
    return outer
  }
  return {
    attach,
    handler: (server, handlerOptions) => wrap(createMcpHandler(serverFactory(server, attach), handlerOptions)),
    wrap,
    serveStdio: async (server, stdioOptions) => {
      // A store that cannot be opened should stop a desktop server at once, with its reason.
      await engine()
      return stdioServer(listenHost, serverFactory(server, attach), stdioOptions)
    },
    sweep: async () => (await engine()).sweep(),
    close: async () => {
      for (const handler of wrapped) await handler.close()
      const opened = await opening?.catch(() => undefined)
      opened?.watches.close()
      while (pending.size > 0) await Promise.all(pending)
      http.close()
      await opened?.deps.records.backend.close()
    },
  }
}

function warnVolatile(emit: (event: JobEvent) => void): void {
  const message =
    'mcp-job-tools keeps its tasks in memory: a restart forgets them, and replicas do not share them. ' +
    "Give createJobTools a store, such as lmdbStore({ path: './jobs.lmdb' })."
  process.emitWarning(message)
  emit({ type: 'warning', message })
}
