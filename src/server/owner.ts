import type { CallerAuth } from '../define/index.js'
import type { Caller } from '../engine/index.js'
import { OwnerError } from '../errors/index.js'

/** What an `owner` function sees of a request. */
export interface OwnerContext {
  /** What the host validated; absent without authentication. */
  readonly authInfo?: CallerAuth
  /** The HTTP request, where there is one. */
  readonly request?: Request
}

/** Names the owner of the tasks that a request makes. Everything but a non-empty string or a number means "no subject". */
export type OwnerOption = (ctx: OwnerContext) => unknown

/** The subject of the access token (`extra.sub`). */
export const defaultOwner: OwnerOption = (ctx) => ctx.authInfo?.extra?.sub

function subjectOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : undefined
}

/**
 * Who sends a request.
 * @throws OwnerError for an authenticated request without a subject: a task must not be bound to nobody.
 */
export function callerOf(owner: OwnerOption, ctx: OwnerContext): Caller {
  const { authInfo } = ctx
  const subject = subjectOf(owner(ctx))
  if (subject === undefined && authInfo) throw new OwnerError()
  return { subject: subject ?? null, authInfo }
}

/** What the SDK knows of a request, as an `owner` function sees it. */
export function ownerContext(authInfo: CallerAuth | undefined, request: Request | undefined): OwnerContext {
  return { ...(authInfo ? { authInfo } : {}), ...(request ? { request } : {}) }
}
