import type { McpServerFactory } from '@modelcontextprotocol/server'
import {
  type ServeStdioOptions,
  type StdioServerHandle,
  StdioServerTransport,
  serveStdio,
} from '@modelcontextprotocol/server/stdio'
import type { ListenHost } from './listen-http.js'
import { withTaskMessages } from './listen-stdio.js'

/** The SDK's stdio server over such a factory. */
export function stdioServer(
  host: ListenHost,
  factory: McpServerFactory,
  options: ServeStdioOptions = {},
): StdioServerHandle {
  const transport = withTaskMessages(host, options.transport ?? new StdioServerTransport())
  return serveStdio(factory, { ...options, transport })
}
