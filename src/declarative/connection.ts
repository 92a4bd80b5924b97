import { DefinitionError, InputError } from '../errors/index.js'
import { checkBaseUrl, type Headers, type HeaderValue } from '../http/index.js'
import { compileTemplate, placeholdersIn, type Scope } from './template.js'

/* Where requests go and with which headers: the parts of a definition that may hold the environment. */

/** The names of environment variables in a value. */
export function envNames(value: unknown): string[] {
  return placeholdersIn(value).flatMap(([root, name]) => (root === 'env' && name !== undefined ? [name] : []))
}

/**
 * The values of environment variables.
 * @throws DefinitionError naming one that is not set. It shows when a request is sent: a server may start before its secrets do.
 */
export function readEnv(names: readonly string[]): string[] {
  return names.map((name) => {
    const value = process.env[name]
    if (value) return value
    throw new DefinitionError({
      field: `environment variable ${name}`,
      problem: 'is not set',
      remedy: 'Set it where this server runs.',
    })
  })
}

/** The scope with the environment in it. */
export const withEnv = (scope: Scope): Scope => ({ ...scope, env: process.env })

/** @returns a function that gives the base URL in normal form, or throws DefinitionError. */
export function compileBaseUrl(baseUrl: string): () => string {
  const names = envNames(baseUrl)
  if (names.length === 0) return () => checkBaseUrl(baseUrl)
  const template = compileTemplate(baseUrl)
  return () => {
    readEnv(names)
    return checkBaseUrl(template(withEnv({})))
  }
}

/** Header values ready to be filled in, by their names in lower case. */
export type CompiledHeaders = ReadonlyMap<string, (scope: Scope) => HeaderValue>

/** What HTTP can carry in a header. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/

/** Compiles headers. */
export function compileHeaders(headers: Readonly<Record<string, HeaderValue>> = {}): CompiledHeaders {
  return new Map(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), compileHeader(name.toLowerCase(), value)]),
  )
}

/** @throws InputError for a value that no header can hold; DefinitionError for a variable that is not set. */
export function renderHeaders(headers: CompiledHeaders, scope: Scope): Headers {
  return Object.fromEntries([...headers].map(([name, value]) => [name, value(scope)]))
}

/** A value with `{env.*}` becomes a function: the client takes what functions give for secrets. */
function compileHeader(name: string, value: HeaderValue): (scope: Scope) => HeaderValue {
  if (typeof value !== 'string') return () => value
  const template = compileTemplate(value)
  const names = envNames(value)
  const line = (scope: Scope): string | undefined => {
    readEnv(names)
    const filled = template(withEnv(scope))
    if (filled === undefined || filled === null) return undefined
    const text = typeof filled === 'object' ? JSON.stringify(filled) : String(filled)
    // A variable that was read from a file ends in a line feed.
    const whole = names.length > 0 ? text.trimEnd() : text
    if (UNSENDABLE.test(whole)) throw new InputError(`header ${name}`, 'must be one line of Latin letters and signs')
    return whole
  }
  if (names.length === 0) return line
  const source = () => line({})
  const isEnvOnly = placeholdersIn(value).every(([root]) => root === 'env')
  return (scope) => {
    // What is wrong shows now, and not as a fault of the credentials.
    line(isEnvOnly ? {} : scope)
    // One function for all requests, so that what is known of its refusals is known for all.
    return isEnvOnly ? source : () => line(scope)
  }
}
