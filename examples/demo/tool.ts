/** The demo's job API as an MCP tool: all that is needed is this description. */
import { defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { z } from 'zod'

/** Makes the tool over a job server, see `job-server.ts`. */
export function surveyTool(baseUrl: string, token: string) {
  return defineJobTool({
    name: 'survey_folder',
    title: 'Survey a folder',
    description: 'Counts the lines of all source files of a folder and, once a person agrees, computes their checksum',
    input: z.object({ folder: z.string() }),
    output: z.object({ files: z.number(), lines: z.number(), sha256: z.string() }),
    job: httpJob({
      baseUrl,
      headers: { authorization: () => `Bearer ${token}` },
      create: { method: 'POST', path: '/jobs', body: { folder: '{input.folder}' }, id: 'id' },
      get: { path: '/jobs/{ref.id}' },
      cancel: { method: 'POST', path: '/jobs/{ref.id}/cancel' },
      status: 'status',
      states: {
        running: 'working',
        waiting: 'input_required',
        done: 'succeeded',
        failed: 'failed',
        cancelled: 'cancelled',
      },
      message: 'question ? question : report ? "the report is ready" : stage',
      progress: 'percent',
      error: 'error',
      result: 'report',
      questions: {
        list: 'question ? [$]',
        key: '"checksums"',
        message: 'question',
        accept: { method: 'POST', path: '/jobs/{ref.id}/approve' },
        decline: { method: 'POST', path: '/jobs/{ref.id}/reject' },
      },
    }),
    pollIntervalMs: 500,
    minPollIntervalMs: 200,
  })
}
