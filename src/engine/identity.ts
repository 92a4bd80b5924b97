import { createHash } from 'node:crypto'
import { UnknownTaskError } from '../errors/index.js'
import type { StoredTask } from '../store/records.js'
import type { Caller, Deps } from './deps.js'

/** 24 bytes: 192 random bits, as 32 url-safe characters. */
const ID_BYTES = 24
const ID = /^[A-Za-z0-9_-]{32}$/
/** Looked up in place of an id that cannot exist, so that the store never sees it and the answer takes as long. */
const NO_ID = 'A'.repeat(32)

/** A new task id: random, with nothing of the job in it. */
export function newTaskId(deps: Pick<Deps, 'randomBytes'>): string {
  return Buffer.from(deps.randomBytes(ID_BYTES)).toString('base64url')
}

/** A new idempotency key for the upstream. Not derived from the task id: the upstream must not learn that. */
export function newKey(deps: Pick<Deps, 'randomBytes'>): string {
  return `mcp-${Buffer.from(deps.randomBytes(16)).toString('hex')}`
}

/** How an owner is stored: hashed, so that a leaked store names nobody. */
export function ownerHash(caller: Caller): string | null {
  return caller.subject === null
    ? null
    : createHash('sha256').update(`mcp-job-tools owner\0${caller.subject}`).digest('base64url')
}

function ownerOf(stored: StoredTask): string | null {
  if (stored.kind === 'end') return stored.end.owner
  return stored.kind === 'new' ? stored.pending.owner : stored.job.owner
}

/**
 * Loads a task for its owner.
 * @throws UnknownTaskError alike for a malformed id, an unknown one and another owner's; StoreError when the store cannot tell.
 */
export async function loadOwned(deps: Deps, taskId: unknown, caller: Caller): Promise<StoredTask> {
  const wellFormed = typeof taskId === 'string' && ID.test(taskId)
  const stored = await deps.records.load(wellFormed ? taskId : NO_ID)
  if (!stored || !wellFormed || ownerOf(stored) !== ownerHash(caller)) throw new UnknownTaskError()
  return stored
}
