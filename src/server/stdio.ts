import type { McpServerFactory } from '@modelcontextprotocol/server'
import { type ServeStdioOptions, type StdioServerHandle, serveStdio } from '@modelcontextprotocol/server/stdio'

/** The SDK's stdio server over such a factory. */
export function stdioServer(factory: McpServerFactory, options?: ServeStdioOptions): StdioServerHandle {
  return serveStdio(factory, options)
}
