import type { McpServer, ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Caller, Engine } from '../engine/index.js'
import { JobToolsError } from '../errors/index.js'
import { type PlainResult, statusResult } from './plain.js'

/** The tools by which a client without tasks carries on with a handle. */
export const HANDLE_TOOLS = ['job_status', 'job_cancel', 'job_answer'] as const

/** `job_status` may wait this long: hosts give up a call after 60 seconds. */
const LONGEST_WAIT_MS = 55_000

const handle = z.string().describe('The handle that a NOT FINISHED answer gave.')
const value = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])

/** What the handle tools need. */
export interface HandleToolsHost {
  engine: () => Promise<Engine>
  caller: (ctx: ServerContext) => Caller
}

/** Registers the three tools. @throws Error of the SDK when one of the names is taken. */
export function registerHandleTools(mcp: McpServer, host: HandleToolsHost): void {
  const run = async (
    ctx: ServerContext,
    work: (engine: Engine, caller: Caller) => Promise<PlainResult>,
  ): Promise<PlainResult> => {
    try {
      return await work(await host.engine(), host.caller(ctx))
    } catch (error) {
      if (!JobToolsError.isInstance(error)) throw error
      const text =
        error.code === 'unknown_task'
          ? 'There is no job with this handle: it is misspelt, not yours, or its result has expired.'
          : error.message
      return { content: [{ type: 'text', text }], isError: true }
    }
  }
  mcp.registerTool(
    'job_status',
    {
      title: 'State of a job',
      description:
        'Tells the state of a job that another tool left NOT FINISHED, and gives its result once it has ended. ' +
        'Set waitMs to wait inside this one call instead of calling again and again.',
      inputSchema: z.object({
        handle,
        waitMs: z
          .number()
          .int()
          .min(0)
          .max(LONGEST_WAIT_MS)
          .optional()
          .describe('Wait up to this many milliseconds for the job to end or to ask something.'),
      }),
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    ({ handle, waitMs = 0 }, ctx) =>
      run(ctx, async (engine, caller) =>
        statusResult(
          waitMs > 0
            ? await engine.wait(handle, caller, { ms: waitMs, signal: ctx.mcpReq.signal })
            : await engine.look(handle, caller),
        ),
      ),
  )
  mcp.registerTool(
    'job_cancel',
    {
      title: 'Cancel a job',
      description:
        'Stops a job that another tool left NOT FINISHED. The job may take a moment to stop, or may end first.',
      inputSchema: z.object({ handle }),
      annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: true },
    },
    ({ handle }, ctx) =>
      run(ctx, async (engine, caller) => {
        await engine.cancel(handle, caller)
        return statusResult(await engine.look(handle, caller))
      }),
  )
  mcp.registerTool(
    'job_answer',
    {
      title: 'Answer a job',
      description:
        'Hands the decision of the user to a job that waits for one. Put the question to the user first; never decide for them. ' +
        'action "accept" needs the fields of the question\'s form in content; "decline" refuses.',
      inputSchema: z.object({
        handle,
        question: z.string().describe('The key of the question, as the NOT FINISHED answer names it.'),
        action: z.enum(['accept', 'decline']),
        content: z.record(z.string(), value).optional().describe("The fields of the question's form."),
      }),
      annotations: { destructiveHint: true, openWorldHint: true },
    },
    ({ handle, question, action, content }, ctx) =>
      run(ctx, async (engine, caller) => {
        const before = await engine.look(handle, caller)
        if (!before.questions.some((asked) => asked.key === question)) {
          const open = before.questions.map((asked) => `"${asked.key}"`).join(', ')
          const text = `The job does not ask "${question}"${open ? `; it asks ${open}` : ' now'}.`
          return {
            ...statusResult(before),
            content: [{ type: 'text', text }, ...statusResult(before).content],
            isError: true,
          }
        }
        await engine.answer(handle, caller, Object.fromEntries([[question, { action, content: content ?? {} }]]))
        return statusResult(await engine.look(handle, caller))
      }),
  )
}
