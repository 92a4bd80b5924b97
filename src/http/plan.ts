import { DefinitionError, InputError } from '../errors/index.js'
import type { Headers, HttpRequest } from './types.js'
import { isTrustedUrl, queryText } from './url.js'

/** Default cap on a body, in bytes. */
export const MAX_BODY_BYTES = 5_000_000
/** Of an answer that is a failure, more than this is not read, in bytes. */
export const MAX_ERROR_BYTES = 65_536

// What may be said to a server that must not learn the operator's credentials.
const HARMLESS_HEADERS = new Set(['accept', 'content-type', 'user-agent'])

const FORM = 'application/x-www-form-urlencoded'

/** A request made ready: everything but the values of the headers. */
export interface Plan {
  readonly method: string
  readonly href: string
  readonly template: string
  readonly body: string | Uint8Array | undefined
  readonly isForm: boolean
  /** True for a URL on the configured origin. */
  readonly withCredentials: boolean
  /** The caller's headers that may be sent to this URL. */
  readonly headers: Headers
  /** Headers that hold unless the caller gives them. */
  readonly defaults: Readonly<Record<string, string>>
  readonly accepts: (status: number) => boolean
  readonly limits: (status: number) => { maxBytes: number; keepTail: boolean }
  /** True for GET and HEAD, the only ones that may be sent again. */
  readonly repeatable: boolean
}

/**
 * @throws InputError for a body that cannot be written; DefinitionError for a URL that was not made by `configuredUrl` or
 *   `responseUrl`
 */
export function planRequest(request: HttpRequest, userAgent: string): Plan {
  const { url } = request
  if (!isTrustedUrl(url)) {
    throw new DefinitionError({
      field: 'url',
      problem: 'it is a bare value, so nobody has checked where it leads',
      remedy: 'Make it with configuredUrl or responseUrl.',
    })
  }
  const method = (request.method ?? 'GET').toUpperCase()
  const { body, contentType } = requestBody(request)
  const accepted = new Set(request.accept)
  const accepts = (status: number) => (status >= 200 && status < 300) || accepted.has(status)
  return {
    method,
    href: url.href,
    template: url.template,
    body,
    isForm: contentType === FORM,
    withCredentials: url.credentials,
    headers: url.credentials ? (request.headers ?? {}) : harmlessOnly(request.headers ?? {}),
    defaults: {
      // A log may be of any type.
      accept: request.keepTail === true ? '*/*' : 'application/json',
      'user-agent': userAgent,
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
    },
    accepts,
    limits: (status) =>
      accepts(status)
        ? { maxBytes: request.maxBytes ?? MAX_BODY_BYTES, keepTail: request.keepTail === true }
        : { maxBytes: MAX_ERROR_BYTES, keepTail: false },
    repeatable: method === 'GET' || method === 'HEAD',
  }
}

function harmlessOnly(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => HARMLESS_HEADERS.has(name.toLowerCase())))
}

function requestBody({ json, form, body }: HttpRequest): {
  body: string | Uint8Array | undefined
  contentType?: string
} {
  if (json !== undefined) return { body: jsonText(json), contentType: 'application/json' }
  if (form !== undefined) {
    // The form encoding writes a space as "+"; a literal plus is %2B already.
    return { body: queryText(form).replaceAll('%20', '+'), contentType: FORM }
  }
  return { body }
}

function jsonText(value: unknown): string {
  try {
    const text = JSON.stringify(value)
    if (text !== undefined) return text
  } catch {
    // Said below: a bigint or a value that holds itself.
  }
  throw new InputError('body', 'cannot be written as JSON')
}
