import { type McpHandlerRequestOptions, type McpHttpHandler, readRequestBody } from '@modelcontextprotocol/server'
import type { Engine } from '../engine/index.js'
import {
  acknowledge,
  endOf,
  invalidParams,
  isAcknowledgement,
  isEnd,
  type TaskListen,
  taskListen,
  tasksRequired,
  toProtocolError,
} from '../wire/index.js'
import { callerOf, type OwnerOption, ownerContext } from './owner.js'
import { type Refusal, Subscription } from './subscription.js'

/** What the wrapped handler needs of its set of job tools. */
export interface ListenHost {
  engine: () => Promise<Engine>
  owner: OwnerOption
}

/** As the SDK's own bound on request bodies. */
const MOST_BODY_BYTES = 4_194_304
const KEEP_ALIVE_MS = 15_000
/** A reader this many frames behind gets only the newest state of each task. */
const MOST_WAITING_FRAMES = 64

/** The SDK's handler, with `taskIds` of `subscriptions/listen` served. Everything else passes through untouched. */
export function withTaskStreams(host: ListenHost, inner: McpHttpHandler): McpHttpHandler {
  const open = new Set<TaskStream>()
  const fetch = async (request: Request, options: McpHandlerRequestOptions = {}): Promise<Response> => {
    // The SDK refuses a listen request whose header is missing or says something else.
    if (request.method !== 'POST' || request.headers.get('mcp-method') !== 'subscriptions/listen')
      return inner.fetch(request, options)
    const parsedBody = 'parsedBody' in options ? options.parsedBody : await readJson(request)
    const listen = taskListen(parsedBody)
    if (parsedBody === undefined || !listen)
      return inner.fetch(request, parsedBody === undefined ? options : { ...options, parsedBody })
    // Its checks come first: headers, envelope, revision, capacity.
    const answer = await inner.fetch(request, { ...options, parsedBody: listen.rest })
    if (!answer.body || !answer.headers.get('content-type')?.includes('text/event-stream')) return answer
    try {
      const subscription = await Subscription.open(
        await host.engine(),
        listen,
        callerOf(host.owner, ownerContext(options.authInfo, request)),
      )
      if (typeof subscription === 'string') {
        await answer.body.cancel()
        return refuse(listen, subscription)
      }
      const stream = new TaskStream(subscription, answer.body, () => open.delete(stream))
      open.add(stream)
      request.signal?.addEventListener('abort', () => stream.close(false), { once: true })
      return new Response(stream.readable, { status: answer.status, headers: answer.headers })
    } catch (error) {
      await answer.body.cancel()
      const { code, message } = toProtocolError(error)
      return Response.json({ jsonrpc: '2.0', id: listen.id, error: { code, message } })
    }
  }
  const close = async () => {
    for (const stream of [...open]) stream.close(true)
    await inner.close()
  }
  return { ...inner, fetch, close }
}

async function readJson(request: Request): Promise<unknown> {
  try {
    // A copy, so that the SDK can still read the body and answer in its own words where it is not JSON or too large.
    const body = await readRequestBody(request.clone(), MOST_BODY_BYTES)
    return body.tooLarge ? undefined : JSON.parse(body.text)
  } catch {
    return undefined
  }
}

function refuse(listen: TaskListen, refusal: Refusal): Response {
  const error =
    refusal === 'no-declaration'
      ? tasksRequired('subscriptions/listen with taskIds')
      : refusal === 'bad-ids'
        ? invalidParams('notifications.taskIds must be a list of at most 1,000 task ids')
        : { code: -32603, message: 'Subscription limit reached', data: undefined }
  const { code, message, data } = error
  const body = { jsonrpc: '2.0', id: listen.id, error: { code, message, ...(data === undefined ? {} : { data }) } }
  return Response.json(body, { status: refusal === 'no-declaration' ? 400 : 200 })
}

/** One merged stream: the SDK's frames, its acknowledgement completed, and our notifications. */
class TaskStream {
  readonly readable: ReadableStream<Uint8Array>
  private readonly encoder = new TextEncoder()
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined
  private waiting: { task: string | undefined; frame: string }[] = []
  private keepAlive: NodeJS.Timeout | undefined
  private closed = false
  /** The SDK's side has ended, ours has: the stream ends with the later one. */
  private innerDone = false
  private tasksDone = false

  constructor(
    private readonly subscription: Subscription,
    inner: ReadableStream<Uint8Array>,
    private readonly onClose: () => void,
  ) {
    this.reader = inner.getReader()
    this.readable = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.controller = controller
        this.keepAlive = setInterval(() => this.write(undefined, ': keepalive\n\n'), KEEP_ALIVE_MS)
        void this.pump()
      },
      pull: () => this.flush(),
      cancel: () => this.close(false),
    })
  }

  /** Ends the stream; properly, with a closing result, or because nobody reads it. */
  close(proper: boolean): void {
    if (this.closed) return
    if (proper) {
      this.send(undefined, endOf(this.subscription.listen.id))
      for (const { frame } of this.waiting.splice(0)) this.controller?.enqueue(this.encoder.encode(frame))
    }
    this.closed = true
    clearInterval(this.keepAlive)
    this.subscription.close()
    this.onClose()
    this.reader.cancel().catch(() => undefined)
    try {
      this.controller?.close()
    } catch {
      // The reader had cancelled it already.
    }
  }

  private async pump(): Promise<void> {
    const decoder = new TextDecoder()
    let buffer = ''
    try {
      for (;;) {
        const { done, value } = await this.reader.read()
        if (done) break
        buffer += decoder.decode(value, { stream: true })
        const frames = buffer.split('\n\n')
        buffer = frames.pop() ?? ''
        for (const frame of frames) this.innerFrame(frame)
      }
    } catch {
      // The SDK's stream broke: ours has nothing to stand on.
      this.close(false)
      return
    }
    this.innerDone = true
    this.endWhenDone()
  }

  private innerFrame(frame: string): void {
    const data = /^data: (.*)$/m.exec(frame)?.[1]
    const message: unknown = data === undefined ? undefined : JSON.parse(data)
    const { id } = this.subscription.listen
    // The SDK ends at once where nothing but tasks was asked; the end is ours to say.
    if (isEnd(message, id)) return
    if (!isAcknowledgement(message, id)) {
      this.write(undefined, `${frame}\n\n`)
      return
    }
    this.send(undefined, acknowledge(message, this.subscription.accepted))
    this.subscription.start(
      (notification) => this.send((notification as { params: { taskId: string } }).params.taskId, notification),
      () => {
        this.tasksDone = true
        this.endWhenDone()
      },
    )
  }

  private endWhenDone(): void {
    if (this.innerDone && this.tasksDone) this.close(true)
  }

  private send(task: string | undefined, message: unknown): void {
    this.write(task, `event: message\ndata: ${JSON.stringify(message)}\n\n`)
  }

  private write(task: string | undefined, frame: string): void {
    if (this.closed) return
    if (this.waiting.length >= MOST_WAITING_FRAMES) {
      // Comments can go; a newer state of a task replaces the one that waits, since each is whole.
      if (frame.startsWith(':')) return
      this.waiting = this.waiting.filter(
        (other) => !other.frame.startsWith(':') && (task === undefined || other.task !== task),
      )
    }
    this.waiting.push({ task, frame })
    this.flush()
  }

  private flush(): void {
    while (!this.closed && this.waiting.length > 0 && (this.controller?.desiredSize ?? 0) > 0) {
      const next = this.waiting.shift()
      if (next) this.controller?.enqueue(this.encoder.encode(next.frame))
    }
  }
}
