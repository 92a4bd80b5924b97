import type { Policy } from '../define/index.js'
import type { PaceHints } from '../http/types.js'

/** What the next poll interval depends on. */
export interface PaceFacts {
  policy: Pick<Policy, 'pollIntervalMs' | 'minPollIntervalMs' | 'maxPollIntervalMs'>
  /** Milliseconds since the job was asked for. */
  ageMs: number
  /** The adapter's own estimate. */
  hintMs?: number | undefined
  /** What the upstream's headers said. */
  hints?: PaceHints | undefined
  /** Looks in a row that failed. */
  faults?: number | undefined
  /** A cancel is under way: its end is near, however old the job is. */
  cancelling?: boolean | undefined
}

/** A job is looked at about sixty times over the life it has had so far: ten seconds at ten minutes, a minute at an hour. */
const LOOKS_PER_AGE = 60
/** 2^6: a broken upstream is asked at most 64 times more rarely. */
const MOST_DOUBLINGS = 6

const known = (value: number | undefined): value is number =>
  value !== undefined && Number.isFinite(value) && value >= 0

/**
 * How long a client should wait before it looks again.
 * @returns whole milliseconds, inside the policy's bounds.
 */
export function nextPollIntervalMs(facts: PaceFacts): number {
  const { policy, hints = {} } = facts
  const byAge = facts.cancelling ? 0 : facts.ageMs / LOOKS_PER_AGE
  let interval = known(facts.hintMs) ? facts.hintMs : Math.max(policy.pollIntervalMs, known(byAge) ? byAge : 0)
  interval *= 2 ** Math.min(facts.faults ?? 0, MOST_DOUBLINGS)
  if (known(hints.retryAfterMs)) interval = Math.max(interval, hints.retryAfterMs)
  if (known(hints.rateRemaining) && known(hints.rateResetMs)) {
    // Spread what is left of the allowance evenly over the rest of its window.
    interval = Math.max(interval, hints.rateResetMs / Math.max(hints.rateRemaining, 1))
  }
  return Math.round(Math.min(Math.max(interval, policy.minPollIntervalMs), policy.maxPollIntervalMs))
}

/** A polite client comes back just after its interval; a timer that fires early must not find the old snapshot. */
const FRESH_SHARE = 0.95

/** Whether a snapshot taken at `at` still stands for the job at `now`. A clock that went back makes it stale. */
export function isFresh(snapshot: { at: number; pollIntervalMs: number }, now: number): boolean {
  return now >= snapshot.at && now < snapshot.at + snapshot.pollIntervalMs * FRESH_SHARE
}
