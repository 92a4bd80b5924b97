import type { Server, ServerContext } from '@modelcontextprotocol/server'
import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server'

/** The extension's id, as it is declared on both sides (SEP-2663). */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** The first revision in which tasks are an extension that each request declares. */
const MODERN = '2026-07-28'

/** What a request may be answered with. Worked out for each request anew: nothing is remembered between two. */
export interface ClientFacts {
  /** The connection speaks 2026-07-28 or later. A 2025 connection may carry a 2026 envelope and is still 2025. */
  modern: boolean
  /** This very request declares the tasks extension. */
  declaresTasks: boolean
  /** The client can show a form to a person. */
  canAskForm: boolean
  /** The client can send a person to a page. */
  canAskUrl: boolean
}

type Members = Record<string, unknown>

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Members)[name]
    : undefined
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What capabilities, as a client declares them, mean for us. */
export function capabilityFacts(capabilities: unknown): Omit<ClientFacts, 'modern'> {
  const elicitation = member(capabilities, 'elicitation')
  const named = isObject(elicitation) && Object.keys(elicitation).some((mode) => mode === 'form' || mode === 'url')
  return {
    declaresTasks: isObject(member(member(capabilities, 'extensions'), TASKS_EXTENSION)),
    // `elicitation: {}` is the older way to say "forms".
    canAskForm: isObject(elicitation) && (!named || isObject(member(elicitation, 'form'))),
    canAskUrl: isObject(member(elicitation, 'url')),
  }
}

/** The facts of the request that is being served. */
export function clientFacts(server: Server, ctx: ServerContext): ClientFacts {
  const modern = (server.getNegotiatedProtocolVersion() ?? '') >= MODERN
  if (modern) return { ...capabilityFacts(member(ctx.mcpReq.envelope, CLIENT_CAPABILITIES_META_KEY)), modern }
  return { ...capabilityFacts(server.getClientCapabilities()), declaresTasks: false, modern }
}
