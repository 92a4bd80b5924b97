import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
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
import type { ListenHost } from './listen-http.js'
import { callerOf } from './owner.js'
import { Subscription } from './subscription.js'

/** Whether the SDK honours anything of the request itself. */
function hasOtherFilters(acknowledgement: Record<string, unknown>): boolean {
  const { notifications = {} } = acknowledgement.params as { notifications?: object }
  return Object.keys(notifications).length > 0
}

interface Pending {
  listen: TaskListen
  subscription: Subscription | undefined
  innerDone: boolean
  tasksDone: boolean
}

/**
 * A transport with `taskIds` of `subscriptions/listen` served on it. The stripped request always goes on to the SDK, so that its
 * checks stay in force; what the SDK answers is completed on the way out.
 */
export function withTaskMessages(host: ListenHost, inner: Transport): Transport {
  const pending = new Map<string | number, Pending>()
  const forget = (id: string | number) => {
    pending.get(id)?.subscription?.close()
    pending.delete(id)
  }
  const finish = async (id: string | number, entry: Pending) => {
    if (!entry.innerDone || !entry.tasksDone || pending.get(id) !== entry) return
    forget(id)
    // Over stdio the SDK keeps a subscription to nothing open: it is told that this one is over.
    outer.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
    await inner.send(endOf(id))
  }
  const outer: Transport = {
    start: () => inner.start(),
    close: async () => {
      for (const id of [...pending.keys()]) {
        await inner.send(endOf(id)).catch(() => undefined)
        forget(id)
      }
      await inner.close()
    },
    send: async (message, options) => {
      const { id } = message as { id?: string | number }
      const ended = id === undefined ? undefined : pending.get(id)
      if (ended && isEnd(message, id as string | number)) return innerEnded(id as string | number, ended, message)
      for (const [listenId, entry] of pending) {
        if (isAcknowledgement(message, listenId)) return acknowledged(listenId, entry, message)
      }
      return inner.send(message, options)
    },
  }

  /** The SDK refused the request, or ended its own side. */
  async function innerEnded(id: string | number, entry: Pending, message: JSONRPCMessage): Promise<void> {
    if ('error' in message) {
      forget(id)
      return inner.send(message)
    }
    entry.innerDone = true
    return finish(id, entry)
  }

  async function acknowledged(id: string | number, entry: Pending, message: Record<string, unknown>): Promise<void> {
    const refuse = (code: number, text: string, data?: unknown) => {
      forget(id)
      return inner.send({ jsonrpc: '2.0', id, error: { code, message: text, ...(data === undefined ? {} : { data }) } })
    }
    let subscription: Awaited<ReturnType<typeof Subscription.open>>
    try {
      subscription = await Subscription.open(await host.engine(), entry.listen, callerOf(host.owner, {}))
    } catch (error) {
      const { code, message: text } = toProtocolError(error)
      return refuse(code, text)
    }
    if (subscription === 'no-declaration') {
      const { code, message: text, data } = tasksRequired('subscriptions/listen with taskIds')
      return refuse(code, text, data)
    }
    if (subscription === 'bad-ids') {
      const { code, message: text } = invalidParams('notifications.taskIds must be a list of at most 1,000 task ids')
      return refuse(code, text)
    }
    if (subscription === 'too-many') return refuse(-32603, 'Subscription limit reached')
    entry.subscription = subscription
    entry.innerDone = !hasOtherFilters(message)
    await inner.send(acknowledge(message, subscription.accepted) as JSONRPCMessage)
    subscription.start(
      (notification) => void inner.send(notification as JSONRPCMessage).catch(() => forget(id)),
      () => {
        entry.tasksDone = true
        void finish(id, entry).catch(() => undefined)
      },
    )
  }

  inner.onmessage = (message, extra) => {
    const listen = taskListen(message)
    if (listen) pending.set(listen.id, { listen, subscription: undefined, innerDone: false, tasksDone: false })
    const { method, params } = message as { method?: string; params?: { requestId?: string | number } }
    if (method === 'notifications/cancelled' && params?.requestId !== undefined) forget(params.requestId)
    outer.onmessage?.((listen?.rest ?? message) as JSONRPCMessage, extra)
  }
  inner.onclose = () => {
    for (const id of [...pending.keys()]) forget(id)
    outer.onclose?.()
  }
  inner.onerror = (error) => outer.onerror?.(error)
  return outer
}
