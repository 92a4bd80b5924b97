import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { CLIENT_CAPABILITIES_META_KEY, SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { TaskView } from '../engine/index.js'
import { type ClientFacts, capabilityFacts } from './request.js'
import { detailedTask } from './tasks.js'

/*
 * `subscriptions/listen` is answered by the SDK, which knows nothing of `taskIds`. So the ids are taken out of the request, the SDK
 * serves the rest with all its checks, and its acknowledgement is given the ids that were accepted.
 */

type Members = Record<string, unknown>

/** More ids in one request are refused. */
export const MOST_TASK_IDS = 1_000

/** A listen request that asks for tasks. */
export interface TaskListen {
  /** The request's id, which is also the subscription's. */
  id: string | number
  /** As the client sent it; judged by `idsOf`. */
  taskIds: unknown
  client: ClientFacts
  /** The same request without the ids. */
  rest: Members
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Reads a message as a listen request for tasks. @returns undefined for every other message. */
export function taskListen(message: unknown): TaskListen | undefined {
  if (!isObject(message) || message.method !== 'subscriptions/listen') return undefined
  const { id, params } = message
  if ((typeof id !== 'string' && typeof id !== 'number') || !isObject(params) || !isObject(params.notifications))
    return undefined
  if (!Object.hasOwn(params.notifications, 'taskIds')) return undefined
  const { taskIds, ...notifications } = params.notifications
  const meta = isObject(params._meta) ? params._meta : {}
  const client = { ...capabilityFacts(meta[CLIENT_CAPABILITIES_META_KEY]), modern: true }
  return { id, taskIds, client, rest: { ...message, params: { ...params, notifications } } }
}

/** The ids of a request, each once; undefined when they are no list of ids. */
export function idsOf(listen: TaskListen): string[] | undefined {
  const { taskIds } = listen
  if (!Array.isArray(taskIds) || taskIds.length > MOST_TASK_IDS) return undefined
  return taskIds.every((id) => typeof id === 'string') ? [...new Set(taskIds as string[])] : undefined
}

/** The acknowledgement with the accepted ids in it. Other messages stay as they are. */
export function acknowledge(message: Members, accepted: readonly string[]): Members {
  const params = isObject(message.params) ? message.params : {}
  const notifications = { ...(isObject(params.notifications) ? params.notifications : {}), taskIds: accepted }
  return { ...message, params: { ...params, notifications } }
}

/** Whether a message is the SDK's acknowledgement of a subscription. */
export function isAcknowledgement(message: unknown, id: string | number): message is Members {
  return (
    isObject(message) && message.method === 'notifications/subscriptions/acknowledged' && subscriptionOf(message) === id
  )
}

/** Whether a message is the answer (that is, the end) of a listen request. */
export function isEnd(message: unknown, id: string | number): message is Members {
  return isObject(message) && message.method === undefined && message.id === id
}

function subscriptionOf(message: Members): unknown {
  const meta = isObject(message.params) ? message.params._meta : undefined
  return isObject(meta) ? meta[SUBSCRIPTION_ID_META_KEY] : undefined
}

/** The whole state of a task, as a notification of this subscription. */
export function taskNotification(listen: TaskListen, view: TaskView): JSONRPCMessage {
  const params = { ...detailedTask(view, listen.client), _meta: { [SUBSCRIPTION_ID_META_KEY]: listen.id } }
  return { jsonrpc: '2.0', method: 'notifications/tasks', params }
}

/** What ends a subscription. */
export function endOf(id: string | number): JSONRPCMessage {
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: { [SUBSCRIPTION_ID_META_KEY]: id } } }
}
