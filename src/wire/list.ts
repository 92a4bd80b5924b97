import type { Result } from '@modelcontextprotocol/server'
import { HANDLE_TOOLS } from './handle-tools.js'
import type { ClientFacts } from './request.js'

interface Listed {
  name: string
  outputSchema?: unknown
  [member: string]: unknown
}

/** Which tools of a listing are ours. */
export interface Ours {
  /** Job tools, with what revision 2025-11-25 calls their task support. */
  jobs: ReadonlyMap<string, 'optional' | 'required'>
  handleTools: boolean
}

const HANDLES: ReadonlySet<string> = new Set(HANDLE_TOOLS)

/**
 * A listing as this client should see it: `outputSchema` of job tools only where tasks are declared, since nobody else's call
 * always gives structured content; the handle tools only where they are not.
 */
export function shapeListing(listing: Result, ours: Ours, client: ClientFacts): Result {
  const tools = (listing as { tools?: Listed[] }).tools ?? []
  const shaped = tools
    .filter((tool) => !(ours.handleTools && client.declaresTasks && HANDLES.has(tool.name)))
    .map((tool) => {
      const support = ours.jobs.get(tool.name)
      if (support === undefined || client.declaresTasks) return tool
      const { outputSchema: _, ...rest } = tool
      return client.modern ? rest : { ...rest, execution: { taskSupport: support } }
    })
  // Two clients now see two listings: a shared cache must not hand one the other's, whatever the host's hint says.
  return { ...listing, tools: shaped, ...(client.modern ? { cacheScope: 'private' } : {}) }
}
