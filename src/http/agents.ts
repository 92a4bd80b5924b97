import { type AgentOptions, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'

/** Connections for plain and for encrypted requests. */
export interface Connections {
  readonly http: HttpAgent
  readonly https: HttpsAgent
}

/** The connections of one client. */
export interface ConnectionPool {
  /** Kept and used again: for requests that may be repeated if the other side has just closed the connection. */
  readonly kept: Connections
  /**
   * A new connection for each request. A request that must not be sent twice cannot be repeated when a kept connection turns
   * out to be closed, and nobody could tell whether it had arrived.
   */
  readonly fresh: Connections
  /** Closes idle connections now and busy ones when they are done. */
  close(): void
}

/** How long an idle connection is kept, in milliseconds, where the server names no time of its own. */
const IDLE_MS = 30_000
const OPTIONS: AgentOptions = { keepAlive: true, keepAliveMsecs: IDLE_MS, maxFreeSockets: 32, scheduling: 'lifo' }

export function createConnectionPool(): ConnectionPool {
  const kept = { http: new HttpAgent(OPTIONS), https: new HttpsAgent(OPTIONS) }
  // `keepAlive` stays on for these, since some servers break off wrongly when they are told `connection: close`.
  const fresh = { http: new HttpAgent(OPTIONS), https: new HttpsAgent(OPTIONS) }
  keepNothing(fresh)
  return {
    kept,
    fresh,
    close() {
      keepNothing(kept)
      for (const agent of [kept.http, kept.https]) {
        for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy()
      }
    },
  }
}

/** Makes agents close each connection after its answer. */
function keepNothing({ http, https }: Connections): void {
  // Documented to answer whether the socket stays; its type says `void`.
  const drop = (() => false) as () => void
  http.keepSocketAlive = drop
  https.keepSocketAlive = drop
}
