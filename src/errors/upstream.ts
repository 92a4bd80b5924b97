import { JobToolsError } from './base.js'

/**
 * What went wrong with a request to the upstream:
 * `network` no answer arrived; `timeout` our own limit passed; `status` an answer with a status that is no success;
 * `body` an answer whose body cannot be read; `url` the URL was refused before anything was sent.
 */
export type UpstreamFault = 'network' | 'timeout' | 'status' | 'body' | 'url'

/** The facts of a failed upstream request. */
export interface UpstreamErrorDetails {
  fault: UpstreamFault
  /** The HTTP method, such as `POST`. */
  method: string
  /** The path *template*, never the filled-in URL: `/jobs/{ref.id}`. */
  template: string
  /** What happened, in plain words, with no credential in it. */
  problem: string
  status?: number | undefined
  /** At most 500 cleaned characters of the answer's body. */
  detail?: string | undefined
  /** The parsed body of a `status` fault, cleaned, so that an adapter can tell one refusal from another. */
  body?: unknown
  /** True when the same request may succeed later. */
  transient: boolean
  /** True when the request certainly had no effect: it was never sent, or it was refused. */
  noEffect: boolean
  /** Milliseconds that the upstream asked us to wait. */
  retryAfterMs?: number | undefined
  cause?: unknown
}

/** A request to the upstream failed. */
export class UpstreamError extends JobToolsError {
  readonly fault: UpstreamFault
  readonly status: number | undefined
  readonly detail: string | undefined
  readonly body: unknown
  readonly transient: boolean
  readonly noEffect: boolean
  readonly retryAfterMs: number | undefined

  constructor(private readonly details: UpstreamErrorDetails) {
    const tail = details.detail ? `: ${details.detail}` : ''
    super('upstream', `${details.method} ${details.template} ${details.problem}${tail}`, { cause: details.cause })
    this.fault = details.fault
    this.status = details.status
    this.detail = details.detail
    this.body = details.body
    this.transient = details.transient
    this.noEffect = details.noEffect
    this.retryAfterMs = details.retryAfterMs
  }

  /** The same error, of a request after which certainly no job exists. */
  withoutEffect(): UpstreamError {
    return new UpstreamError({ ...this.details, noEffect: true })
  }

  static override isInstance(value: unknown): value is UpstreamError {
    return JobToolsError.isInstance(value) && value.code === 'upstream'
  }
}
