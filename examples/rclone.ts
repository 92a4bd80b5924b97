/**
 * rclone (https://rclone.org) behind MCP: copies between cloud storages as tasks, with progress and cancel.
 *
 * rclone's remote control answers any call that has `_async: true` with the id of a job. Everything below `httpJob` is data; what is
 * peculiar to rclone is said where it is met. Start rclone, then this, a server for a desktop host on standard input and output:
 *
 *     rclone rcd --rc-addr 127.0.0.1:5572 --rc-user me --rc-pass secret
 *     RCLONE_AUTHORIZATION="Basic $(printf me:secret | base64)" npx tsx examples/rclone.ts
 */
import { pathToFileURL } from 'node:url'
import { createJobTools, defineJobTool } from 'mcp-job-tools'
import { httpJob } from 'mcp-job-tools/adapters/http'
import { lmdbStore } from 'mcp-job-tools/stores/lmdb'
import { z } from 'zod'

// A model chooses these: only remotes that the operator has configured, and nothing above them.
const place = z.string().regex(/^[\w-]+:(?!.*\.\.)/, 'a configured remote and a path, such as "photos:2026/trip"')

/** The tool, over an rclone daemon. */
export function rcloneCopy(baseUrl: string, authorization: string | undefined) {
  return defineJobTool({
    name: 'copy_files',
    title: 'Copy files',
    description: 'Copies a folder from one storage to another. Files that are there already are left as they are.',
    input: z.object({ from: place, to: place }),
    output: z.object({ files: z.number(), bytes: z.number() }),
    job: httpJob({
      baseUrl,
      headers: { authorization },
      create: {
        method: 'POST',
        path: '/sync/copy',
        body: { srcFs: '{input.from}', dstFs: '{input.to}', _async: true, _group: '{key}' },
        id: 'jobid',
      },
      // Every call of rclone is a POST, reading included.
      get: { method: 'POST', path: '/job/status', body: { jobid: '{ref.id}' } },
      // A job says nothing of how far it is; the statistics of its group do.
      also: { stats: { method: 'POST', path: '/core/stats', body: { group: '{key}' } } },
      // A cancelled job is spelled as one that failed.
      status: 'finished ? (success ? "done" : error = "context canceled" ? "cancelled" : "failed") : "running"',
      states: { running: 'working', done: 'succeeded', cancelled: 'cancelled', failed: 'failed' },
      message: 'finished ? "finished" : $stats.transfers & " files copied, " & $stats.bytes & " bytes"',
      progress: '$stats.totalBytes > 0 ? $floor(100 * $stats.bytes / $stats.totalBytes)',
      error: 'error',
      result: '{ "files": $stats.transfers, "bytes": $stats.bytes }',
      cancel: { method: 'POST', path: '/job/stop', body: { jobid: '{ref.id}' } },
      // An unknown job is no 404. rclone forgets a job a minute after its end (--rc-job-expire-duration).
      gone: { status: 500, body: 'job not found' },
    }),
    pollIntervalMs: 2_000,
    // rclone shows a job from the moment it has an id: one that is not there has gone.
    notFoundGraceMs: 0,
  })
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { RCLONE_URL = 'http://127.0.0.1:5572', RCLONE_AUTHORIZATION, STORE = './rclone.lmdb' } = process.env
  const jobs = createJobTools({
    tools: [rcloneCopy(RCLONE_URL, RCLONE_AUTHORIZATION)],
    store: lmdbStore({ path: STORE }),
  })
  await jobs.serveStdio({ name: 'rclone', version: '1.0.0' })
}
