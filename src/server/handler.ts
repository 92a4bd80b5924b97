import { McpServer, type McpServerFactory } from '@modelcontextprotocol/server'

/** The name and version a server gives of itself. */
export interface ServerInfo {
  name: string
  version: string
  title?: string
}

/** A factory whose servers have the job tools on them. */
export function serverFactory(
  server: ServerInfo | McpServerFactory,
  attach: (server: McpServer) => void,
): McpServerFactory {
  const make: McpServerFactory = typeof server === 'function' ? server : () => new McpServer({ ...server })
  return async (ctx) => {
    const made = await make(ctx)
    if (!(made instanceof McpServer)) {
      throw new Error('The server factory must return an McpServer: job tools cannot be added to the low-level Server.')
    }
    attach(made)
    return made
  }
}
