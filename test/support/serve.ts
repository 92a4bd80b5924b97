import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node'
import type { AuthInfo, McpHttpHandler } from '@modelcontextprotocol/server'

/** A handler on a free port of 127.0.0.1. */
export interface Served {
  readonly url: string
  close(): Promise<void>
}

/** Serves a handler over real HTTP. `x-test-user: NAME` stands for a validated token of that user. */
export async function serve(handler: McpHttpHandler): Promise<Served> {
  const node = toNodeHandler({
    ...handler,
    fetch: (request: Request, options = {}) => {
      const authInfo = authOf(request.headers.get('x-test-user'))
      return handler.fetch(request, { ...options, ...(authInfo ? { authInfo } : {}) })
    },
  })
  const server = createServer((request, response) => void node(request as NodeIncomingMessageLike, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: async () => {
      await handler.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function authOf(user: string | null): AuthInfo | undefined {
  if (user === null) return undefined
  const token = `token-of-${user}-${Math.random()}`
  return { token, clientId: 'one-client-for-all', scopes: [], ...(user === '-' ? {} : { extra: { sub: user } }) }
}
