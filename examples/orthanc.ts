/**
 * Orthanc (https://www.orthanc-server.com), a server for medical images, behind MCP: sending images to another server as a task, with
 * progress, cancel, and a question to a person when somebody has paused the transfer.
 *
 * Everything below `httpJob` is data; what is peculiar to Orthanc is said where it is met. A server for a desktop host on standard input
 * and output:
 *
 *     ORTHANC_URL=http://127.0.0.1:8042 ORTHANC_AUTHORIZATION="Basic $(printf me:secret | base64)" npx tsx examples/orthanc.ts
 */
import { pathToFileURL } from 'node:url'
import { createJobTools, defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { lmdbStore } from 'mcp-job-tools/stores/lmdb'
import { z } from 'zod'

/** The tool, over an Orthanc server. */
export function orthancSend(baseUrl: string, authorization: string | undefined) {
  return defineJobTool({
    name: 'send_images',
    title: 'Send images',
    description: 'Sends patients, studies, series or single images to another server that this Orthanc knows by name.',
    input: z.object({
      peer: z.string().describe('The name of the other server'),
      resources: z.array(z.string()).min(1).describe('Orthanc ids of what to send'),
    }),
    output: z.object({ images: z.number(), failed: z.number() }),
    job: httpJob({
      baseUrl,
      headers: { authorization },
      create: {
        method: 'POST',
        path: '/peers/{input.peer}/store',
        body: { Resources: '{input.resources}', Synchronous: false },
        id: 'ID',
      },
      get: { path: '/jobs/{ref.id}' },
      // A cancelled job is a failure with this code.
      status: 'State = "Failure" and ErrorCode = 37 ? "Cancelled" : State',
      states: {
        Pending: 'working',
        Running: 'working',
        Retry: 'working',
        Paused: 'input_required',
        Success: 'succeeded',
        Failure: 'failed',
        Cancelled: 'cancelled',
      },
      message: 'State = "Pending" ? "waiting for other jobs" : State & ", " & Content.InstancesCount & " images"',
      progress: 'Progress',
      error: 'ErrorDetails ? ErrorDescription & ": " & ErrorDetails : ErrorDescription',
      result: '{ "images": Content.InstancesCount, "failed": Content.FailedInstancesCount }',
      cancel: { method: 'POST', path: '/jobs/{ref.id}/cancel', body: {} },
      questions: {
        list: 'State = "Paused" ? [$]',
        key: '"resume"',
        message: '"Somebody has paused this transfer at " & Progress & "%. Go on with it?"',
        accept: { method: 'POST', path: '/jobs/{ref.id}/resume', body: {} },
        decline: { method: 'POST', path: '/jobs/{ref.id}/cancel', body: {} },
      },
    }),
    pollIntervalMs: 2_000,
    // A job is there from the moment it has an id; Orthanc keeps the ten last ones that ended (JobsHistorySize).
    notFoundGraceMs: 0,
  })
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { ORTHANC_URL = 'http://127.0.0.1:8042', ORTHANC_AUTHORIZATION, STORE = './orthanc.lmdb' } = process.env
  const jobs = createJobTools({
    tools: [orthancSend(ORTHANC_URL, ORTHANC_AUTHORIZATION)],
    store: lmdbStore({ path: STORE }),
  })
  await jobs.serveStdio({ name: 'orthanc', version: '1.0.0' })
}
