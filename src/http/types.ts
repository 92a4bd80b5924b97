/** The client that adapters use to reach their upstream. See `client.ts` for what it guarantees. */

/**
 * The value of a request header: text, or a function that gives it anew for each request. A function is called again
 * with `refused: true` after the upstream answered 401 or 403, so that a caching token source can fetch a new token.
 * `undefined` leaves the header out.
 */
export type HeaderValue =
  | string
  | undefined
  | ((call: { refused: boolean }) => string | undefined | Promise<string | undefined>)

/** Headers of a request, by name. */
export type Headers = Readonly<Record<string, HeaderValue>>

declare const TRUSTED: unique symbol

/**
 * A URL that the client may request. Made only by `configuredUrl` (the operator wrote it) and `responseUrl` (an upstream
 * answered it), so that every call site says where its URL comes from.
 */
export interface TrustedUrl {
  readonly [TRUSTED]: true
  readonly href: string
  /** False when the operator's headers must not be sent there. */
  readonly credentials: boolean
  /** What errors show instead of the URL: the path template. */
  readonly template: string
}

/** One request. */
export interface HttpRequest {
  readonly url: TrustedUrl
  /** Default `GET`. GET requests may be repeated inside their time budget; others are sent once. */
  readonly method?: string
  /**
   * Without `accept` JSON is asked for, and a web page is then an unreadable body (a login page, a proxy's error page).
   * Whoever wants text or does not care names its type, or gives the wildcard, in `accept`.
   */
  readonly headers?: Headers
  /** A body to send as JSON. */
  readonly json?: unknown
  /** A body to send as `application/x-www-form-urlencoded`; absent members are dropped. */
  readonly form?: Readonly<Record<string, unknown>>
  /** A body to send as it is. */
  readonly body?: string | Uint8Array
  /** Statuses besides 2xx that are an answer and not a fault. Redirects are never followed: list them here to see them. */
  readonly accept?: readonly number[]
  /** Cap on the decompressed body, in bytes. Default 5,000,000. */
  readonly maxBytes?: number
  /** Keep the *last* `maxBytes` instead of failing when the body is larger: for logs. */
  readonly keepTail?: boolean
  /** A limit of its own for this request, in milliseconds; the operation's own limit holds as well. */
  readonly timeoutMs?: number
  /** Credentials in the URL or the body: redacted wherever they show up, as those in headers are. */
  readonly secrets?: readonly string[]
}

/** The answer to a request. */
export interface HttpAnswer {
  readonly status: number
  /** Lower-case names; repeated headers joined with ", ". */
  readonly headers: Readonly<Record<string, string>>
  /** The body as JSON where it is JSON (integers beyond 2^53 as strings with every digit), else as text. */
  readonly body: unknown
  /** The body as text: valid UTF-8, wrong bytes replaced. */
  readonly text: string
  /** Bytes dropped from the front because of `keepTail`. */
  readonly droppedBytes: number
}

/** Sends requests for one operation on one job: inside its time limit, with its abort signal. */
export interface HttpClient {
  /**
   * Sends one request.
   * @throws UpstreamError for every failure, with a message that names method, path template and status.
   */
  send(request: HttpRequest): Promise<HttpAnswer>
}

/** What the answers of one operation said about pace. Feeds `engine/pace.ts`. */
export interface PaceHints {
  /** Milliseconds from a `Retry-After` header (or the upstream's own form of it). */
  readonly retryAfterMs?: number | undefined
  /** Requests left in the rate-limit window. */
  readonly rateRemaining?: number | undefined
  /** Milliseconds until the window starts anew. */
  readonly rateResetMs?: number | undefined
}

/** The client as the engine binds it to one operation. */
export interface BoundHttp extends HttpClient {
  /** What the answers so far said about pace. */
  hints(): PaceHints
}

/** Makes bound clients. One per `createJobTools`: it holds the connections, the conditional cache and the known secrets. */
export interface HttpCore {
  /**
   * @param budget `signal` ends everything at once; `timeoutMs` is the time limit of the whole operation; `repeat` says after which
   *   faults a GET may be sent again inside it: `any` transient one (the default), or only where no answer came (`unanswered`), for
   *   requests that are sent again soon anyway.
   */
  bind(budget: { signal: AbortSignal; timeoutMs: number; repeat?: 'any' | 'unanswered' }): BoundHttp
  /** Replaces every known secret in a text by `[redacted]`. */
  redact(text: string): string
  /** Closes the kept connections. */
  close(): void
}
