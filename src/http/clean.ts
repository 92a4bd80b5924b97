// Concealed text (SGR 8): Jenkins hides its console annotations that way, and a log could hide instructions.
const CONCEALED = /(?:\x1b\[|\x9b)8m[^\x1b\x9b\n]*(?:(?:\x1b\[|\x9b)(?:0|28)?m)?/g
// Strings for the terminal itself (titles, links): OSC, DCS, SOS, PM, APC. One that never ends costs its line, no more. The
// one-character forms must end to count: text that was decoded wrongly holds such characters by accident.
const TERMINAL_STRING =
  /\x1b[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?|[\x90\x98\x9d-\x9f][^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x07|\x1b\\|\x9c)/g
// Colours and cursor movements; then the remaining two-character escapes.
const CONTROL_SEQUENCE = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?/g
const SHORT_ESCAPE = /\x1b[ -/]*[0-~]?/g
// Controls except line feed and tab, overrides of the writing direction, and the invisible tag characters.
const UNSEEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu

/**
 * Makes text from outside fit to be shown: valid Unicode, without terminal escapes, hidden text and control characters
 * except line feed and tab. CRLF becomes a line feed; of a progress line that was overwritten with carriage returns the
 * last state stays. Linear in the length of the text.
 */
export function cleanText(text: string): string {
  let clean = text
  if (/[\x1b\x90-\x9f]/.test(clean)) {
    clean = clean
      .replace(CONCEALED, '')
      .replace(TERMINAL_STRING, '')
      .replace(CONTROL_SEQUENCE, '')
      .replace(SHORT_ESCAPE, '')
  }
  if (clean.includes('\r')) clean = clean.split('\n').map(lastState).join('\n')
  return clean.replace(UNSEEN, '').toWellFormed()
}

/** What a terminal shows of a line that overwrote itself. */
function lastState(line: string): string {
  let end = line.length
  while (end > 0 && line.charCodeAt(end - 1) === 0x0d) end -= 1
  return line.slice(line.lastIndexOf('\r', end - 1) + 1, end)
}

/** Shortens a text to `maxChars` UTF-16 units, the last of them an ellipsis, never in the middle of a character. */
export function cap(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  if (maxChars < 1) return ''
  const end = isHighSurrogate(text.charCodeAt(maxChars - 2)) ? maxChars - 2 : maxChars - 1
  return `${text.slice(0, end)}…`
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

/** Limits of {@link tailLines}. */
export interface TailLimits {
  /** How many lines stay. */
  readonly lines: number
  /** How many bytes of UTF-8 stay. */
  readonly bytes: number
}

/** The end of a text, and how much went before it. */
export interface Tail {
  readonly text: string
  readonly droppedLines: number
  readonly droppedBytes: number
}

/**
 * Keeps the end of a text: at most so many lines and so many bytes of UTF-8, from the start of a line on. Only a last line
 * that is larger than `bytes` by itself is cut inside, between two characters. A line feed at the very end does not start
 * another line.
 */
export function tailLines(text: string, { lines, bytes }: TailLimits): Tail {
  const start = byteStart(text, lineStart(text, lines), bytes)
  const dropped = text.slice(0, start)
  return { text: text.slice(start), droppedLines: countLines(dropped), droppedBytes: Buffer.byteLength(dropped) }
}

function lineStart(text: string, lines: number): number {
  if (lines < 1) return text.length
  let at = text.endsWith('\n') ? text.length - 1 : text.length
  for (let left = lines; left > 0; left -= 1) {
    if (at <= 0) return 0
    at = text.lastIndexOf('\n', at - 1)
    if (at < 0) return 0
  }
  return at + 1
}

function byteStart(text: string, start: number, bytes: number): number {
  let size = 0
  let at = text.length
  while (at > start) {
    const low = text.charCodeAt(at - 1)
    const pair = low >= 0xdc00 && low <= 0xdfff && at - 2 >= start && isHighSurrogate(text.charCodeAt(at - 2))
    const width = pair ? 4 : low < 0x80 ? 1 : low < 0x800 ? 2 : 3
    if (size + width > bytes) return lineBoundary(text, at)
    size += width
    at -= pair ? 2 : 1
  }
  return start
}

function lineBoundary(text: string, at: number): number {
  if (at === 0 || text.charCodeAt(at - 1) === 0x0a) return at
  const next = text.indexOf('\n', at) + 1
  return next === 0 || next === text.length ? at : next
}

function countLines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1
  return count
}
