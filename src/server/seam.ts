import {
  type JSONRPCRequest,
  type Result,
  Server,
  type ServerContext,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server'

/** A request handler as the SDK keeps it. */
export type Handler = (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result>

/**
 * The one place that reaches into the SDK. `McpServer` installs `tools/call` and `tools/list` itself, and wraps them with checks
 * we want to keep; there is no public way to take such a handler and put another in its place. Both members used here are
 * `protected`, that is, meant to be seen by a subclass: if the SDK renames one, this file fails to compile, and users' servers do
 * not fail at run time.
 */
export class Seam extends Server {
  /** The installed handler of a method, with all the SDK's own checks around it. */
  static take(server: Server, method: string): Handler | undefined {
    return Seam.prototype._getRequestHandler.call(server, method)
  }

  /** Installs a handler as it is, without the SDK's wrapping: `handler` is expected to call a taken one. */
  static put(server: Server, method: string, params: StandardSchemaV1, handler: Handler): void {
    // Shares the server's handlers, but wraps nothing.
    const view: Seam = Object.create(server)
    view._wrapHandler = () => handler
    view.setRequestHandler(method, { params }, async () => ({}))
  }
}
