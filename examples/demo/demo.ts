/**
 * `npm run demo`: how a job goes from call to result.
 *
 * Three processes: a job server (it runs a script of this repository), an MCP server that wraps it with `mcp-job-tools`, and this one, a
 * client. `--yes` answers the questions by itself; so does a run without a terminal.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { ToolExecution } from '@modelcontextprotocol/ext-tasks/client'
import { type Elicitation, openTaskSession, type TaskSession } from '../support/task-session.js'
import { bold, dim, say, TaskView } from './draw.js'
import { endPrograms, type Program, startProgram } from './processes.js'

const byItself = process.argv.includes('--yes') || !process.stdin.isTTY || !process.stdout.isTTY
const TOKEN = 'demo-token'
const FOLDER = 'src'
const THINKING_MS = 1_200

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** What is drawn now. Each task gets a view of its own, before anything can be asked on its behalf. */
let shown = new TaskView(!byItself)
const freshView = () => {
  shown = new TaskView(!byItself)
}

function askPerson({ message }: Elicitation) {
  shown.show({ status: 'input_required', statusMessage: 'The job waits for a decision.' })
  return shown.during(() => decide(message))
}

async function decide(message: string) {
  if (byItself) {
    say(`  ${bold('Question:')} ${message}`)
    await pause(THINKING_MS)
    say(`  ${bold('Answer:')} yes ${dim('(given by the demo itself)')}`)
    return { action: 'accept' as const, content: {} }
  }
  const keyboard = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await keyboard.question(`  ${bold('Question:')} ${message} [Y/n] `)
  keyboard.close()
  return answer.trim().toLowerCase().startsWith('n')
    ? { action: 'decline' as const }
    : { action: 'accept' as const, content: {} }
}

function connect(url: string): Promise<TaskSession> {
  return openTaskSession({
    transport: new StreamableHTTPClientTransport(new URL(url)),
    endpointId: 'demo',
    onElicitation: askPerson,
  })
}

/** Draws a task until it is over, or until `until` says that enough has been seen. */
async function watch(execution: ToolExecution<unknown>, until?: (message: string) => boolean): Promise<void> {
  for await (const event of execution.updates()) {
    if (event.type !== 'task') return
    shown.show(event.task)
    if (until?.(event.task.statusMessage ?? '')) return
  }
}

function taskOf(execution: ToolExecution<unknown>) {
  if (execution.kind !== 'task') throw new Error('The server answered without a task.')
  return execution
}

async function tellResult(execution: ToolExecution<unknown>): Promise<string> {
  const { outcome } = await execution.settle()
  shown.show({ status: outcome.status, statusMessage: outcome.task?.statusMessage })
  shown.settle()
  if (outcome.status !== 'completed') return outcome.status
  const { isError, structuredContent, content } = outcome.result as {
    isError?: boolean
    structuredContent?: { files: number; lines: number; sha256: string }
    content: { text?: string }[]
  }
  if (isError || !structuredContent) say(`  ${bold('Result:')} ${content[0]?.text}`)
  else {
    const { files, lines, sha256 } = structuredContent
    say(`  ${bold('Result:')} ${files} files, ${lines.toLocaleString('en')} lines, checksum ${sha256.slice(0, 12)}…`)
  }
  return outcome.status
}

async function countJobs(server: Program): Promise<number> {
  const response = await fetch(`${server.url}/jobs`, { headers: { authorization: `Bearer ${TOKEN}` } })
  return ((await response.json()) as { jobs: unknown[] }).jobs.length
}

async function story(folder: string): Promise<void> {
  const jobServer = await startProgram('./job-server.ts', { JOBS_TOKEN: TOKEN, PORT: '0' })
  const env = { JOBS_URL: jobServer.url, JOBS_TOKEN: TOKEN, STORE: join(folder, 'jobs.lmdb') }
  let mcpServer = await startProgram('./mcp-server.ts', { ...env, PORT: '0' })
  say(`A job server runs at ${jobServer.url}: it starts scripts, and knows nothing of MCP.`)
  say(`An MCP server wraps it at ${mcpServer.url}: the tool survey_folder, described as data.`)
  say()

  say(bold('1. A job from call to result'))
  let session = await connect(mcpServer.url)
  freshView()
  const first = taskOf(
    await session.tasks.callTool('survey_folder', { folder: FOLDER }, { task: { preference: 'prefer' } }),
  )
  say(`  The call answered at once with task ${first.handle.taskId}.`)
  await watch(first)
  const firstEnd = await tellResult(first)
  say()

  say(bold('2. A job that outlives its MCP server'))
  freshView()
  const second = taskOf(
    await session.tasks.callTool('survey_folder', { folder: FOLDER }, { task: { preference: 'prefer' } }),
  )
  const { taskId } = second.handle
  say(`  The call answered at once with task ${taskId}.`)
  await watch(second, (message) => /\([1-9]\d%\)/.test(message))
  shown.settle()
  const reference = second.serializeReference()
  await second.detach()
  await mcpServer.kill('SIGKILL')
  say(`  ${bold('The MCP server was just killed')} (SIGKILL: no chance to save anything). The job runs on.`)
  await session.client.close()
  await pause(THINKING_MS)
  mcpServer = await startProgram('./mcp-server.ts', { ...env, PORT: new URL(mcpServer.url).port })
  say('  The MCP server was started again. A new session takes the same task up:')
  session = await connect(mcpServer.url)
  freshView()
  const resumed = taskOf(await session.tasks.resumeTask(reference))
  await watch(resumed)
  const secondEnd = await tellResult(resumed)
  await session.close()
  say()

  say(bold('What happened'))
  say(`  Two calls made ${await countJobs(jobServer)} jobs: none was started twice.`)
  say(
    `  Task ${taskId} kept its id through the crash: ${resumed.handle.taskId === taskId ? 'the same before and after' : 'NO'}.`,
  )
  say('  Nothing polled in the background: each state was read from the job server when the client looked.')
  if (firstEnd !== 'completed' || secondEnd !== 'completed') process.exitCode = 1
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-job-tools-demo-'))
  let ending: Promise<void> | undefined
  const end = () => {
    ending ??= endPrograms().then(() => rm(folder, { recursive: true, force: true }))
    return ending
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => void end().then(() => process.exit(130)))
  try {
    await story(folder)
  } finally {
    await end()
  }
}

await main()
