import type { Reading } from '../define/index.js'
import type { StoredRef } from '../store/records.js'

/** The longest status message: it is shown in one line, again and again. */
const LONGEST_MESSAGE = 500

/** Milliseconds in words a person reads at a glance: "90 s", "5 min", "2 h". */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`
}

/** Names a job by its ref, for messages: `job 42`, `job queueId 7, buildNumber 42`. */
export function jobLabel(ref: StoredRef): string {
  const members = Object.entries(ref)
  const [only] = members
  if (members.length === 1 && only) return `job ${only[1]}`
  return `job ${members.map(([name, value]) => `${name} ${value}`).join(', ')}`
}

/** Progress as text, or nothing when the message says it already. */
function progressText(message: string, progress: Reading<unknown>['progress']): string {
  if (!progress || !Number.isFinite(progress.done)) return ''
  const { done, total } = progress
  const text = total === undefined ? `${Math.round(done)}%` : `${done} of ${total}`
  return message.replaceAll(' ', '').includes(text.replaceAll(' ', '')) ? '' : ` (${text})`
}

/** One line for the client: what the upstream said, how far it is, and where to look. */
export function statusLine(parts: {
  message: string
  progress?: Reading<unknown>['progress']
  url?: string | undefined
}): string {
  const line = parts.message.replace(/\s+/g, ' ').trim()
  const short = line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE - 1).toWellFormed()}…` : line
  const link = parts.url && !short.includes(parts.url) ? ` ${parts.url}` : ''
  return `${short}${progressText(short, parts.progress)}${link}`
}
