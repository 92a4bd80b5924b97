import { createHash } from 'node:crypto'
import {
  createRequestStateCodec,
  type InputRequests,
  inputRequired,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Answer, Answers, Question } from '../define/index.js'
import { type Caller, type Engine, newTaskId, ownerHash, type ResolvedTool, readAnswer } from '../engine/index.js'
import { elicitation } from './elicitation.js'
import { invalidParams } from './errors.js'
import type { PlainResult } from './plain.js'
import type { ClientFacts } from './request.js'

/*
 * Questions before the job exists ride on MCP's multi-round-trip results: the call is answered with `input_required`, and comes
 * back with the answers and with our signed state. The state never holds answers; it says whose call this is, and carries a nonce
 * that is claimed once, so that a repeated last leg finds the first leg's task instead of starting a second job.
 */

/** How long a person may take to answer. */
const ASK_TTL_MS = 86_400_000
const MOST_QUESTIONS = 20

interface AskState {
  /** One per round trip. */
  nonce: string
  /** The owner's hash; null without authentication. */
  owner: string | null
  /** A hash of tool and arguments. */
  call: string
}

/** What the questions led to. */
export type Asked =
  | { kind: 'go'; answers: Answers; id: string | undefined }
  /** The last leg was sent before: this task came of it. */
  | { kind: 'again'; id: string }
  | { kind: 'reply'; reply: Record<string, unknown> }

/** Signs and checks the state of one set of tools. */
export interface AskCodec {
  mint(state: AskState): Promise<string>
  /** @throws what the SDK's codec throws for a foreign, changed or expired state. */
  verify(state: string, ctx: ServerContext): Promise<AskState>
}

/** @param secret at least 32 bytes, shared by all replicas. */
export function askCodec(secret: Uint8Array | string): AskCodec {
  const codec: RequestStateCodec<AskState> = createRequestStateCodec<AskState>({
    key: secret,
    ttlSeconds: ASK_TTL_MS / 1000,
  })
  return codec
}

/** What is known of the call whose questions these are. */
export interface AskCall {
  engine: Engine
  codec: () => Promise<AskCodec>
  tool: ResolvedTool
  input: unknown
  caller: Caller
  client: ClientFacts
  ctx: ServerContext
  /** The state as the client sent it. */
  requestState: unknown
}

/**
 * Asks what the tool wants to know before its job exists, or reads the answers.
 * @throws ProtocolError `-32602` for a state that is not ours or not this caller's, and for an answer that does not fit.
 */
export async function askFirst(call: AskCall): Promise<Asked> {
  const questions = ((await call.tool.ask?.(call.input)) ?? []).slice(0, MOST_QUESTIONS)
  if (questions.length === 0) return { kind: 'go', answers: {}, id: undefined }
  const responses = call.ctx.mcpReq.inputResponses
  if (call.client.modern) return askModern(call, questions, responses)
  // The SDK fulfils the request inside this very call by asking the client; nothing travels that could be replayed.
  if (!call.client.canAskForm)
    return {
      kind: 'reply',
      reply: notStarted('This tool asks a person first, and this connection cannot carry questions.'),
    }
  return responses
    ? decide(questions, responses)
    : { kind: 'reply', reply: inputRequired({ inputRequests: requests(questions) }) }
}

async function askModern(
  call: AskCall,
  questions: readonly Question[],
  responses: Record<string, unknown> | undefined,
): Promise<Asked> {
  const codec = await call.codec()
  const mine = { owner: ownerHash(call.caller), call: fingerprint(call.tool.name, call.ctx, call.input) }
  if (call.requestState === undefined) {
    const nonce = newTaskId(call.engine.deps)
    const requestState = await codec.mint({ nonce, ...mine })
    return { kind: 'reply', reply: inputRequired({ inputRequests: requests(questions), requestState }) }
  }
  const state = await verified(call, codec, mine)
  const asked = decide(questions, responses ?? {})
  if (asked.kind !== 'go') return asked
  const id = newTaskId(call.engine.deps)
  const standing = await call.engine.deps.records.claim(`ask:${state.nonce}`, id, ASK_TTL_MS)
  return standing === id ? { ...asked, id } : { kind: 'again', id: standing }
}

async function verified(call: AskCall, codec: AskCodec, mine: Omit<AskState, 'nonce'>): Promise<AskState> {
  const refused = () => invalidParams('Invalid or expired requestState', { reason: 'invalid_request_state' })
  if (typeof call.requestState !== 'string') throw refused()
  let state: AskState
  try {
    state = await codec.verify(call.requestState, call.ctx)
  } catch {
    throw refused()
  }
  if (typeof state?.nonce !== 'string' || state.owner !== mine.owner || state.call !== mine.call) throw refused()
  return state
}

function requests(questions: readonly Question[]): InputRequests {
  return Object.fromEntries(
    questions.map((question) => [
      question.key,
      elicitation({ message: question.message, form: question.form, url: question.url }),
    ]),
  ) as InputRequests
}

function decide(questions: readonly Question[], responses: Record<string, unknown>): Asked {
  const answers: Record<string, Answer> = {}
  for (const question of questions) {
    const response = Object.hasOwn(responses, question.key) ? responses[question.key] : undefined
    if (response === undefined) throw invalidParams(`inputResponses.${question.key} is missing`)
    const answer = readAnswer(question.key, question, response)
    if (!answer) return { kind: 'reply', reply: notStarted(`"${question.message}" was not answered.`) }
    if (answer.action === 'decline') return { kind: 'reply', reply: notStarted(`"${question.message}" was declined.`) }
    answers[question.key] = answer
  }
  return { kind: 'go', answers, id: undefined }
}

function notStarted(reason: string): PlainResult {
  return { content: [{ type: 'text', text: `The job was not started. ${reason}` }], isError: true }
}

function fingerprint(tool: string, ctx: ServerContext, input: unknown): string {
  return createHash('sha256')
    .update(`${tool}\0${ctx.mcpReq.method}\0${stableJson(input)}`)
    .digest('base64url')
}

/** JSON with sorted members: the same arguments in another order are the same call. */
function stableJson(value: unknown): string {
  return (
    JSON.stringify(value, (_name, member: unknown) =>
      typeof member === 'object' && member !== null && !Array.isArray(member)
        ? Object.fromEntries(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)))
        : member,
    ) ?? ''
  )
}
