import { DefinitionError, InputError, UpstreamError } from '../errors/index.js'
import { isInternalHost } from './hosts.js'
import { isSafePath, type SafePath } from './path.js'
import type { TrustedUrl } from './types.js'

/** Longest URL that is followed from a response, in characters. Signed poll URLs of some clouds pass 4,000. */
const MAX_URL_CHARS = 16_384

// A registered symbol, so that a URL made by another copy of this package is known too.
const TRUSTED = Symbol.for('mcp-job-tools.url')

/** True for a URL that {@link configuredUrl} or {@link responseUrl} made. */
export function isTrustedUrl(value: unknown): value is TrustedUrl {
  return typeof value === 'object' && value !== null && TRUSTED in value
}

/**
 * Checks a base URL that the operator wrote.
 *
 * @param value the setting
 * @param field the setting's name in errors
 * @returns the URL in normal form
 * @throws DefinitionError unless it is an absolute http or https URL without credentials, query and fragment
 */
export function checkBaseUrl(value: unknown, field = 'baseUrl'): string {
  const refuse = (problem: string, remedy: string) => new DefinitionError({ field, problem, remedy })
  const text = value instanceof URL ? value.href : value
  if (typeof text !== 'string' || !URL.canParse(text)) {
    throw refuse('it is no absolute URL', 'Write it like https://farm.example/api.')
  }
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw refuse(`its scheme is "${url.protocol.slice(0, -1)}"`, 'Only http and https are supported.')
  }
  if (url.username !== '' || url.password !== '') {
    throw refuse('it holds a user name or password', 'Give credentials as a header, best as a function.')
  }
  if (url.search !== '' || text.includes('?')) {
    throw refuse('it holds a query', 'Give the query with each request.')
  }
  if (url.hash !== '' || text.includes('#')) throw refuse('it holds a fragment', 'Leave out what follows the "#".')
  return url.href
}

/** What {@link configuredUrl} needs. */
export interface ConfiguredUrlParts {
  /** From the operator, never from input. With or without a trailing slash. */
  readonly baseUrl: string | URL
  readonly path: SafePath
  /** Lists repeat the key; absent and null members are dropped; objects are sent as JSON text. */
  readonly query?: Readonly<Record<string, unknown>> | undefined
}

/**
 * The URL of a request to the configured upstream.
 *
 * @throws DefinitionError for a wrong base URL; InputError for a query value that cannot be sent; UpstreamError (`url`)
 *   if the result does not lie under the base URL
 */
export function configuredUrl({ baseUrl, path, query }: ConfiguredUrlParts): TrustedUrl {
  if (!isSafePath(path)) {
    throw new DefinitionError({
      field: 'path',
      problem: 'it is not a checked path',
      remedy: 'Make it with the `path` template tag or with `safePath`.',
    })
  }
  const base = new URL(checkBaseUrl(baseUrl))
  const root = base.pathname.replace(/\/+$/, '')
  const search = [path.search, queryText(query)].filter((text) => text !== '').join('&')
  const pathname = path.pathname === '' ? base.pathname : root + path.pathname
  const url = new URL(`${base.origin}${pathname}${search === '' ? '' : `?${search}`}`)
  // Belt and braces: whatever the checks above let through, normalisation must not have moved the request.
  const inside = url.pathname === base.pathname || url.pathname.startsWith(`${root}/`)
  if (url.origin !== base.origin || !inside || url.username !== '' || url.password !== '' || url.hash !== '') {
    throw refusal(path.template, 'was refused: the filled-in path leaves the configured base URL')
  }
  return trusted(url, true, path.template)
}

/** Encodes query members. A space becomes `%20`, which every server reads; `+` is read by form decoders only. */
export function queryText(query: Readonly<Record<string, unknown>> | undefined): string {
  const pairs: string[] = []
  for (const [key, value] of Object.entries(query ?? {})) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item === undefined || item === null) continue
      pairs.push(`${encodePart(key)}=${encodePart(scalarText(item, key))}`)
    }
  }
  return pairs.join('&')
}

function encodePart(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

function scalarText(value: unknown, field: string): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
    throw new InputError(field, 'must be a number within 2^53; give larger ids as text')
  }
  if (typeof value === 'object' && value !== null) return JSON.stringify(value)
  return String(value)
}

/** What {@link responseUrl} needs besides the URL. */
export interface ResponseUrlRules {
  /** The configured base URL: its origin alone receives credentials, and relative URLs start there. */
  readonly base: string | URL
  /** What happens to a URL on another origin. */
  readonly elsewhere: 'refuse' | 'without-credentials'
  /** What errors show instead of the URL, such as `(logs_url)`. */
  readonly template: string
}

/**
 * The URL that an upstream's answer holds: a poll URL, a `Location`, a log file.
 *
 * @param value the URL, absolute or relative to `base`
 * @returns a URL with credentials on the configured origin; without, or not at all, elsewhere
 * @throws UpstreamError (`url`) for a URL that must not be followed: another scheme, credentials inside, from https down
 *   to http, from a public base into a private network
 */
export function responseUrl(value: unknown, { base, elsewhere, template }: ResponseUrlRules): TrustedUrl {
  const home = new URL(checkBaseUrl(base))
  const url = parseAnswered(value, home, template)
  if (url.origin === home.origin) return trusted(url, true, template)
  const target = url.origin
  if (home.protocol === 'https:' && url.protocol === 'http:') {
    throw refusal(template, `was refused: the upstream points from https to ${target}`)
  }
  if (elsewhere === 'refuse') {
    throw refusal(template, `was refused: the upstream points to another origin, ${target}`)
  }
  if (isInternalHost(url.hostname) && !isInternalHost(home.hostname)) {
    throw refusal(template, `was refused: the upstream points into a private network, ${target}`)
  }
  return trusted(url, false, template)
}

/**
 * Puts the path and query of an answered URL onto the configured origin: an upstream behind a proxy often answers its own
 * inner host or scheme.
 *
 * @param value a `Location`, absolute or relative
 * @param baseUrl the configured base URL
 * @param template what errors show instead of the URL
 * @returns an absolute URL on the configured origin, for {@link responseUrl} or for reading an id from
 * @throws UpstreamError (`url`) when the value is no http or https URL
 */
export function rebase(value: unknown, baseUrl: string | URL, template = '(location)'): string {
  const home = new URL(checkBaseUrl(baseUrl))
  const url = parseAnswered(value, home, template)
  return `${home.origin}${url.pathname}${url.search}`
}

function parseAnswered(value: unknown, home: URL, template: string): URL {
  if (typeof value !== 'string' || value === '') throw refusal(template, 'was refused: the upstream gave no URL')
  if (value.length > MAX_URL_CHARS) throw refusal(template, 'was refused: the upstream gave a URL that is too long')
  // The URL parser would silently drop line breaks and tabs, so that the text checked is not the text requested.
  if (/\p{Cc}/u.test(value) || !URL.canParse(value, home.href)) {
    throw refusal(template, 'was refused: the upstream gave a malformed URL')
  }
  const url = new URL(value, home)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw refusal(template, `was refused: the upstream gave a URL of the scheme "${url.protocol.slice(0, -1)}"`)
  }
  if (url.username !== '' || url.password !== '') {
    throw refusal(template, 'was refused: the upstream gave a URL with credentials in it')
  }
  url.hash = ''
  return url
}

function trusted(url: URL, credentials: boolean, template: string): TrustedUrl {
  return Object.freeze({ [TRUSTED]: true, href: url.href, credentials, template }) as unknown as TrustedUrl
}

function refusal(template: string, problem: string): UpstreamError {
  return new UpstreamError({ fault: 'url', method: 'URL', template, problem, transient: false, noEffect: true })
}
