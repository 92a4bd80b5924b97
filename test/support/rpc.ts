/* Raw JSON-RPC over HTTP: what goes over the wire, with nothing of a client in between. */

/** What a request declares of its client. */
export interface Declares {
  tasks?: boolean
  elicitation?: boolean | object
  user?: string
  signal?: AbortSignal
}

/** An answer as it came. */
export interface Answered {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever the wire holds.
  result: any
  error: { code: number; message: string; data?: unknown } | undefined
  /** Notifications that came before the answer. */
  notifications: { method: string; params: Record<string, unknown> }[]
  /** The body, byte for byte. */
  text: string
}

let lastId = 0

/** The `_meta` of a 2026-07-28 request. */
export function envelope(declares: Declares): Record<string, unknown> {
  const { tasks = true, elicitation = true } = declares
  return {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {
      ...(elicitation ? { elicitation: elicitation === true ? {} : elicitation } : {}),
      ...(tasks ? { extensions: { 'io.modelcontextprotocol/tasks': {} } } : {}),
    },
  }
}

function headersFor(method: string, params: Record<string, unknown>, declares: Declares): Record<string, string> {
  const named = params.name ?? params.taskId
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    // A header cannot carry every id a hostile client may send.
    ...(typeof named === 'string' && /^[\x21-\x7e]{1,200}$/.test(named) ? { 'mcp-name': named } : {}),
    ...(declares.user === undefined ? {} : { 'x-test-user': declares.user }),
  }
}

/** Sends a request of revision 2026-07-28; `declares` says what its client can do (tasks and elicitation unless told otherwise). */
export async function rpc(
  url: string,
  method: string,
  params: Record<string, unknown>,
  declares: Declares = {},
): Promise<Answered> {
  const { _meta, ...rest } = params
  const body = {
    jsonrpc: '2.0',
    id: ++lastId,
    method,
    params: { ...rest, _meta: { ...envelope(declares), ...(_meta as object) } },
  }
  return post(url, body, headersFor(method, params, declares), declares.signal)
}

/** Sends a request of revision 2025-11-25 over stateless HTTP. */
export function rpc2025(
  url: string,
  method: string,
  params: Record<string, unknown>,
  declares: Declares = {},
): Promise<Answered> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
    ...(declares.user === undefined ? {} : { 'x-test-user': declares.user }),
  }
  return post(url, { jsonrpc: '2.0', id: ++lastId, method, params }, headers, declares.signal)
}

async function post(
  url: string,
  body: object,
  headers: Record<string, string>,
  signal: AbortSignal | undefined,
): Promise<Answered> {
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  })
  const text = await response.text()
  const messages = response.headers.get('content-type')?.includes('text/event-stream')
    ? [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1] ?? ''))
    : [JSON.parse(text)]
  const answer = messages.find((message) => 'result' in message || 'error' in message)
  return {
    status: response.status,
    result: answer?.result,
    error: answer?.error,
    notifications: messages.filter((message) => message.method !== undefined),
    text,
  }
}
