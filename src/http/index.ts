export { cap, cleanText, type Tail, type TailLimits, tailLines } from './clean.js'
export { createHttpCore, type HttpCoreOptions } from './client.js'
export { isJsonType, type ParsedBody, parseBody, parseJson } from './json.js'
export { type LogBlockOptions, logBlock } from './log-block.js'
export { type PathPart, path, type SafePath, safePath } from './path.js'
export {
  isRateLimited,
  joinHints,
  MAX_WAIT_MS,
  paceHints,
  retryAfterMs,
  retryDelay,
} from './retry-timing.js'
export { createRedactor, REDACTED, type Redactor } from './secrets.js'
export { pathSegment } from './segment.js'
export type {
  BoundHttp,
  Headers,
  HeaderValue,
  HttpAnswer,
  HttpClient,
  HttpCore,
  HttpRequest,
  PaceHints,
  TrustedUrl,
} from './types.js'
export {
  type ConfiguredUrlParts,
  checkBaseUrl,
  configuredUrl,
  type ResponseUrlRules,
  rebase,
  responseUrl,
} from './url.js'
