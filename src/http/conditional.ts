import { createHash } from 'node:crypto'

/** A body above this size is not kept, in characters: a look at a job is small. */
const MAX_ENTRY_CHARS = 1_000_000
/** A `Last-Modified` must be this much older than its answer before it proves anything: it counts whole seconds, so a job
 * that changed twice in one second would look unchanged for ever. RFC 9110 names a minute for differing clocks. */
const LAST_MODIFIED_AGE_MS = 60_000

// Headers that differ from request to request and never change the answer.
const IRRELEVANT = /^(?:user-agent|traceparent|tracestate|.*(?:request|correlation)-id)$/

/** An answer that may be asked for again with a condition. */
export interface CachedAnswer {
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly etag: string | undefined
  readonly lastModified: string | undefined
}

/** A bounded memory of GET answers, of which the least recently used go first. */
export interface ConditionalCache {
  /** The kept answer to this request, if any. */
  find(key: string): CachedAnswer | undefined
  /** Keeps a 200 answer if it carries a validator and may be kept; otherwise forgets what was kept before. */
  keep(key: string, answer: { headers: Readonly<Record<string, string>>; text: string }): void
}

/** The identity of a GET: its URL, and who asks. Credentials enter only as a hash. */
export function cacheKey(url: string, headers: Readonly<Record<string, string>>): string {
  const relevant = Object.entries(headers)
    .filter(([name]) => !IRRELEVANT.test(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([url, relevant]))
    .digest('base64')
}

/** The headers that ask "only if it has changed". */
export function conditionOf(answer: CachedAnswer | undefined): Record<string, string> {
  if (answer?.etag !== undefined) return { 'if-none-match': answer.etag }
  if (answer?.lastModified !== undefined) return { 'if-modified-since': answer.lastModified }
  return {}
}

/**
 * @param maxEntries how many answers are kept
 * @param maxChars how many characters of body are kept in all
 */
export function createConditionalCache(maxEntries = 500, maxChars = 10_000_000): ConditionalCache {
  const entries = new Map<string, CachedAnswer>()
  let chars = 0

  const forget = (key: string) => {
    chars -= entries.get(key)?.text.length ?? 0
    entries.delete(key)
  }

  return {
    find(key) {
      const entry = entries.get(key)
      if (entry !== undefined) {
        entries.delete(key)
        entries.set(key, entry)
      }
      return entry
    },
    keep(key, { headers, text }) {
      forget(key)
      const etag = headers.etag
      const lastModified = provenLastModified(headers)
      if (etag === undefined && lastModified === undefined) return
      if (/\bno-store\b/i.test(headers['cache-control'] ?? '') || headers.vary?.trim() === '*') return
      if (text.length > Math.min(MAX_ENTRY_CHARS, maxChars)) return
      entries.set(key, { headers, text, etag, lastModified })
      chars += text.length
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries && chars <= maxChars) break
        forget(oldest)
      }
    },
  }
}

function provenLastModified(headers: Readonly<Record<string, string>>): string | undefined {
  const changed = Date.parse(headers['last-modified'] ?? '')
  const answered = Date.parse(headers.date ?? '')
  return answered - changed >= LAST_MODIFIED_AGE_MS ? headers['last-modified'] : undefined
}
