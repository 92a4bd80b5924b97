import { InputError } from '../errors/index.js'
import type { Redactor } from './secrets.js'
import type { Headers, HeaderValue } from './types.js'

type HeaderFunction = Extract<HeaderValue, (...args: never[]) => unknown>

/** Credentials that a header function did not give. */
export class CredentialsFault extends Error {
  readonly header: string
  /** True when the time limit ended the wait. */
  readonly aborted: boolean

  constructor(header: string, problem: string, options: { aborted: boolean; cause?: unknown }) {
    super(problem, { cause: options.cause })
    this.name = 'CredentialsFault'
    this.header = header
    this.aborted = options.aborted
  }
}

/** The headers of one request, and what is needed to renew them. */
export interface ResolvedHeaders {
  /** Lower-case names. */
  readonly values: Record<string, string>
  /** The functions behind them, each with the round of refreshing in which it was asked. */
  readonly sources: readonly { name: string; source: HeaderFunction; round: number }[]
}

interface Refreshing {
  round: number
  value: string | undefined
  running: Promise<string | undefined> | undefined
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/

/** Resolves header functions, and renews what they gave once for all requests that were refused with it. */
export interface Credentials {
  /**
   * Calls each header function once.
   *
   * @throws CredentialsFault when one throws, gives no text, or does not answer before the signal; InputError for a fixed
   *   header that cannot be sent
   */
  resolve(headers: Headers, signal: AbortSignal): Promise<ResolvedHeaders>
  /**
   * Asks the functions behind refused headers for new values. Requests that were refused together share one call.
   *
   * @throws CredentialsFault as `resolve` does
   */
  renew(refused: ResolvedHeaders, signal: AbortSignal): Promise<ResolvedHeaders>
}

export function createCredentials(redactor: Redactor): Credentials {
  // By function: it is the token source, and the same one may stand behind many tools.
  const states = new WeakMap<HeaderFunction, Refreshing>()

  const stateOf = (source: HeaderFunction): Refreshing => {
    const state = states.get(source) ?? { round: 0, value: undefined, running: undefined }
    states.set(source, state)
    return state
  }

  const keep = (values: Record<string, string>, name: string, value: unknown, fromFunction: boolean) => {
    if (value === undefined || value === null) {
      delete values[name]
      return
    }
    if (typeof value !== 'string') throw unusable(name, 'are no text', fromFunction)
    // A token read from a file ends in a line feed.
    const text = value.trim()
    redactor.learnHeader(name, text, fromFunction)
    if (UNSENDABLE.test(text)) throw unusable(name, 'hold characters that cannot be sent', fromFunction)
    values[name] = text
  }

  const renewOne = async (name: string, source: HeaderFunction, round: number, signal: AbortSignal) => {
    const state = stateOf(source)
    // Another request has renewed it since this one was sent.
    if (state.round > round && state.running === undefined) return state.value
    const running = state.running ?? startRenewal(state, ask(name, source, true))
    try {
      return await beforeAbort(running, name, signal)
    } catch (error) {
      // A source that hangs must not hold up the requests that come later.
      if (signal.aborted && state.running === running) state.running = undefined
      throw error
    }
  }

  return {
    async resolve(headers, signal) {
      const values: Record<string, string> = {}
      const sources: { name: string; source: HeaderFunction; round: number }[] = []
      for (const [given, value] of Object.entries(headers)) {
        if (!NAME.test(given)) throw new InputError(`header "${given}"`, 'is no valid header name')
        const name = given.toLowerCase()
        if (typeof value === 'function') sources.push({ name, source: value, round: stateOf(value).round })
        else keep(values, name, value, false)
      }
      const texts = await Promise.all(
        sources.map(({ name, source }) => beforeAbort(ask(name, source, false), name, signal)),
      )
      sources.forEach(({ name }, index) => {
        keep(values, name, texts[index], true)
      })
      return { values, sources }
    },

    async renew(refused, signal) {
      const values = { ...refused.values }
      const renewed = await Promise.all(
        refused.sources.map(async ({ name, source, round }) => {
          return { name, source, value: await renewOne(name, source, round, signal) }
        }),
      )
      for (const { name, value } of renewed) keep(values, name, value, true)
      return {
        values,
        sources: renewed.map(({ name, source }) => ({ name, source, round: stateOf(source).round })),
      }
    },
  }
}

function unusable(name: string, problem: string, fromFunction: boolean): Error {
  return fromFunction
    ? new CredentialsFault(name, problem, { aborted: false })
    : new InputError(`header "${name}"`, problem.replace('are', 'is').replace('hold', 'holds'))
}

/** Notes a renewal that has begun, so that others join it, and its value once it is there. */
function startRenewal(state: Refreshing, asked: Promise<string | undefined>): Promise<string | undefined> {
  const running = asked
    .then((value) => {
      state.round += 1
      state.value = value
      return value
    })
    .finally(() => {
      if (state.running === running) state.running = undefined
    })
  state.running = running
  return running
}

async function ask(name: string, source: HeaderFunction, refused: boolean): Promise<string | undefined> {
  try {
    return await source({ refused })
  } catch (cause) {
    throw new CredentialsFault(name, 'could not be had: their function failed', { aborted: false, cause })
  }
}

/** The promise, or a fault as soon as the signal ends the wait. */
function beforeAbort<T>(promise: Promise<T>, name: string, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(new CredentialsFault(name, 'did not arrive in time', { aborted: true }))
    }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
