import { type ContentBlock, type JobResult, validate } from '../define/index.js'
import { cleanText, tailLines } from '../http/index.js'
import type { EndRecord, StoredResult, TaskIdentity } from '../store/records.js'
import type { ResolvedTool } from './deps.js'

/** JSON-RPC "internal error": what a `failed` task carries. */
export const INTERNAL_ERROR = -32603

/** Text of a result: cleaned, without known secrets, and at most `maxBytes` of its tail. */
function boundedText(text: string, maxBytes: number, redact: (text: string) => string): string {
  const clean = redact(cleanText(text))
  if (Buffer.byteLength(clean) <= maxBytes) return clean
  const tail = tailLines(clean, { bytes: maxBytes, lines: Number.MAX_SAFE_INTEGER })
  return `[The first ${tail.droppedBytes.toLocaleString('en')} bytes were left out.]\n${tail.text}`
}

function redactJson(value: unknown, redact: (text: string) => string): unknown {
  const text = JSON.stringify(value)
  if (text === undefined) return undefined
  const safe = redact(text)
  if (safe === text) return value
  try {
    return JSON.parse(safe)
  } catch {
    return safe
  }
}

function blocks(content: readonly ContentBlock[], maxBytes: number, redact: (text: string) => string): ContentBlock[] {
  let left = maxBytes
  return content.flatMap((block) => {
    if (block.type === 'text' && typeof block.text === 'string') {
      if (left <= 0) return []
      const text = boundedText(block.text, left, redact)
      left -= Buffer.byteLength(text)
      return [{ ...block, text }]
    }
    return [block]
  })
}

/**
 * Turns what a job gave into the result of a tool call.
 *
 * @param failed the job ran and failed: an answer, marked `isError`.
 */
export async function toolResult(
  tool: Pick<ResolvedTool, 'name' | 'output' | 'policy'>,
  given: JobResult,
  failed: boolean,
  redact: (text: string) => string,
): Promise<StoredResult> {
  const { maxResultBytes } = tool.policy
  const isError = given.isError ?? failed
  const structured = given.structured === undefined ? undefined : redactJson(given.structured, redact)
  const json = structured === undefined ? '' : JSON.stringify(structured)
  if (Buffer.byteLength(json) > maxResultBytes) {
    const size = Buffer.byteLength(json).toLocaleString('en')
    return errorResult(
      `The job ${failed ? 'failed' : 'succeeded'}, but its result of ${size} bytes is larger than the limit of ` +
        `${maxResultBytes.toLocaleString('en')} (option maxResultBytes).`,
    )
  }
  if (tool.output && !isError) {
    const checked = await validate(tool.output, structured)
    if ('problem' in checked) {
      return errorResult(
        `The job succeeded, but its result does not fit the tool's output schema: ${boundedText(checked.problem, 2_000, redact)}`,
      )
    }
  }
  const content = blocks(given.content ?? [], maxResultBytes, redact)
  if (given.text !== undefined) content.unshift({ type: 'text', text: boundedText(given.text, maxResultBytes, redact) })
  if (content.length === 0) {
    content.push({
      type: 'text',
      text: json || (failed ? 'The job failed and gave no output.' : 'The job succeeded and gave no output.'),
    })
  }
  return {
    content,
    ...(structured === undefined ? {} : { structuredContent: structured }),
    ...(isError ? { isError: true } : {}),
  }
}

/** A plain error result. */
export function errorResult(text: string): StoredResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** What every outcome of a task has in common. */
export function outcomeOf(
  task: TaskIdentity,
  at: number,
  rest: Pick<EndRecord, 'status' | 'message'> & Partial<Pick<EndRecord, 'url' | 'result' | 'error'>>,
): EndRecord {
  const { id, tool, owner, createdAt, retentionMs } = task
  // A clock that went back must not make a task end before it began.
  return { id, tool, owner, createdAt, retentionMs, endedAt: Math.max(at, createdAt), ...rest }
}
