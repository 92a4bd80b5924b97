/* Streams of `subscriptions/listen`, read raw. */
import { type Declares, envelope } from './rpc.js'
import { closing } from './world.js'

// biome-ignore lint/suspicious/noExplicitAny: tests read whatever the wire holds.
export type Message = any

/** An open stream of one listen request. */
export async function listen(url: string, notifications: Record<string, unknown>, declares: Declares = {}) {
  const controller = new AbortController()
  closing(async () => controller.abort())
  const response = await fetch(url, {
    method: 'POST',
    signal: controller.signal,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
      ...(declares.user ? { 'x-test-user': declares.user } : {}),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 'sub-1',
      method: 'subscriptions/listen',
      params: { notifications, _meta: envelope(declares) },
    }),
  })
  const messages = response.headers.get('content-type')?.includes('event-stream') ? read(response.body) : undefined
  const refusal = async () => ((await response.json()) as Message).error
  return {
    response,
    refusal,
    messages,
    next: async (): Promise<Message> => (await messages?.next())?.value,
    stop: () => controller.abort(),
  }
}

async function* read(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Message> {
  let buffer = ''
  const decoder = new TextDecoder()
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    buffer += decoder.decode(chunk, { stream: true })
    const frames = buffer.split('\n\n')
    buffer = frames.pop() ?? ''
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1]
      if (data) yield JSON.parse(data)
    }
  }
}
