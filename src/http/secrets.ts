/** Shorter values are no secrets, and replacing them would garble ordinary text. */
const MIN_SECRET_CHARS = 6
/** How many values are remembered; of more, those go first that were used longest ago. */
const MAX_SECRETS = 1_000

export const REDACTED = '[redacted]'

// Headers whose fixed values are credentials, by a part of their name.
const SECRET_NAME =
  /authori[sz]ation|(?:^|[-_])auth(?:[-_]|$)|cookie|token|secret|key|password|credential|signature|session/i
// Members of a query or form that are credentials. Stricter: `key` and `author` are ordinary words there, and a signature
// belongs to a URL that may be the result itself.
const SECRET_MEMBER = /(?:^|[-_.])(?:(?:api|access|secret|private)[-_]?key|token|secret|passw(?:or)?d|credential)$/i
// Headers that say something about the request and never who sends it, though a name may match above.
const PLAIN_NAME =
  /^(?:accept(?:-.+)?|content-.+|user-agent|host|date|prefer|if-.+|traceparent|tracestate|.*idempotency-key|.*(?:request|correlation)-id|.*version|x-amz-(?:date|target))$/i

// Token shapes that are known by sight. Each begins where a word begins, so that hostile text costs linear time.
const PATTERNS: readonly [RegExp, string][] = [
  [/(?<![\w-])(?:gh[opusr]_\w{6,}|github_pat_\w{6,})/g, REDACTED],
  [/(?<![\w-])gl(?:pat|ptt|dt|rt|cbt|ft|soat)-[\w-]{8,}/g, REDACTED],
  [/(?<![\w-])(?:sk[-_]|rk_)(?=[\w-]*\d)[\w-]{20,}/g, REDACTED],
  [/(?<![\w-])(?:hf|npm|r8)_[A-Za-z0-9]{20,}/g, REDACTED],
  [/(?<![\w-])xox[a-z]-[\w-]{10,}/g, REDACTED],
  [/(?<![\w-])AIza[\w-]{30,}/g, REDACTED],
  [/(?<![\w-])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])/g, REDACTED],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g, REDACTED],
  [/-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[^-]|-(?!----))*(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/g, REDACTED],
  // A scheme with something that is no word of a sentence after it: with a digit in it, or long.
  [/(?<!\w)(bearer|basic)([ \t]{1,8})(?=[\w.~+/=-]*\d|[\w.~+/=-]{24})[\w.~+/=-]{6,}/gi, `$1$2${REDACTED}`],
  [/(?<![\w-])((?:access|refresh|private|id|job)_token|client_secret|api[_-]?key)=[^\s&"'<>]{6,}/gi, `$1=${REDACTED}`],
  [/(:\/\/[^\s/:@?#]{0,256}:)[^\s/@?#]{1,1024}@/g, `$1${REDACTED}@`],
]

/** Replaces secrets in texts. Learns the values that are really sent; knows the shapes of common tokens besides. */
export interface Redactor {
  /**
   * Remembers a header that is sent.
   *
   * @param fromFunction true when a function gave the value: that is how credentials are given, whatever the name
   */
  learnHeader(name: string, value: string, fromFunction: boolean): void
  /** Remembers the credentials in an encoded query or form, by the names of their members. */
  learnQuery(query: string): void
  /** Remembers one value. Values under 6 characters are ignored. */
  learn(value: string): void
  /** The text with every known secret replaced by `[redacted]`, also where it is URL-encoded, JSON-escaped or in base64. */
  redact(text: string): string
}

/** @param maxSecrets how many values are remembered */
export function createRedactor(maxSecrets = MAX_SECRETS): Redactor {
  // The value, and the spellings to look for. A Map keeps its order of insertion, which makes it the queue of last use.
  const known = new Map<string, readonly string[]>()
  // The longest first, so that a secret inside another one does not leave the rest of it behind.
  let needles: readonly string[] | undefined

  const learn = (value: string) => {
    if (value.length < MIN_SECRET_CHARS) return
    const spellings = known.get(value)
    known.delete(value)
    known.set(value, spellings ?? spellingsOf(value))
    if (spellings !== undefined) return
    needles = undefined
    const oldest = known.keys().next().value
    if (known.size > maxSecrets && oldest !== undefined) known.delete(oldest)
  }

  return {
    learn,
    learnHeader(name, value, fromFunction) {
      if (PLAIN_NAME.test(name) || !(fromFunction || SECRET_NAME.test(name))) return
      for (const part of credentialParts(name, value)) learn(part)
    },
    learnQuery(query) {
      for (const [name, value] of new URLSearchParams(query)) if (SECRET_MEMBER.test(name)) learn(value)
    },
    redact(text) {
      needles ??= [...new Set([...known.values()].flat())].sort((a, b) => b.length - a.length)
      let clean = text
      for (const needle of needles) if (clean.includes(needle)) clean = clean.replaceAll(needle, REDACTED)
      for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement)
      return clean
    },
  }
}

/** Everything in a header value that must not show up: the whole, what follows the scheme, and what that encodes. */
function credentialParts(name: string, value: string): string[] {
  const parts = [value.trim()]
  if (/cookie/i.test(name)) {
    for (const pair of value.split(';')) parts.push(pair.slice(pair.indexOf('=') + 1).trim())
    return parts
  }
  const scheme = /^([A-Za-z][\w-]*)\s+(.+)$/s.exec(value.trim())
  if (scheme === null) return parts
  const rest = (scheme[2] ?? '').trim()
  parts.push(rest)
  // Such as `Token token="..."` and the parameters of signatures.
  for (const quoted of rest.matchAll(/="([^"]+)"/g)) parts.push(quoted[1] ?? '')
  if (scheme[1]?.toLowerCase() === 'basic') {
    const pair = Buffer.from(rest, 'base64').toString('utf8')
    const colon = pair.indexOf(':')
    if (colon >= 0) parts.push(pair, pair.slice(colon + 1))
  }
  return parts
}

function spellingsOf(value: string): readonly string[] {
  const encoded = encodeURIComponent(value.toWellFormed())
  const form = new URLSearchParams({ '': value }).toString().slice(1)
  const base64 = Buffer.from(value).toString('base64').replace(/=+$/, '')
  return [
    ...new Set([
      value,
      encoded,
      form,
      ...[encoded, form].map((text) => text.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())),
      JSON.stringify(value).slice(1, -1),
      base64,
      base64.replaceAll('+', '-').replaceAll('/', '_'),
    ]),
  ]
}
