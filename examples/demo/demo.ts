/**
 * `npm run demo`: how a job goes from call to result.
 *
 * Three processes: a job server (it runs a script of this repository), an MCP server that wraps it with `mcp-job-tools`, and this one, a
 * client. `--yes` answers the questions by itself; so does a run without a terminal.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { ToolExecution } from '@modelcontextprotocol/ext-tasks/client'
import { openTaskSession, type TaskSession } from '../support/task-session.js'
import { Screen, TaskView } from './draw.js'
import { decide } from './person.js'
import { endPrograms, type Program, startProgram } from './processes.js'

const byItself = process.argv.includes('--yes') || !process.stdin.isTTY || !process.stdout.isTTY
const TOKEN = 'demo-token'
const FOLDER = 'src'
/** Long enough to read what has just been said. */
const READING_MS = 1_200

const screen = new Screen()
const say = (text = '') => screen.say(text)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

type Task = ToolExecution<unknown> & { kind: 'task' }

/** What is drawn now. Each task gets a view of its own, before anything can be asked on its behalf. */
let shown = new TaskView(screen)

function connect(url: string): Promise<TaskSession> {
  return openTaskSession({
    transport: new StreamableHTTPClientTransport(new URL(url)),
    endpointId: 'demo',
    onElicitation: async (question) => {
      shown.show({ status: 'input_required', statusMessage: 'The job waits for a decision.' })
      shown.settle()
      return decide(question, screen, byItself)
    },
  })
}

async function call({ tasks }: TaskSession): Promise<Task> {
  shown = new TaskView(screen)
  const execution = await tasks.callTool('survey_folder', { folder: FOLDER }, { task: { preference: 'prefer' } })
  if (execution.kind !== 'task') throw new Error('The server answered without a task.')
  say(`  The call answered at once with task ${screen.bold(execution.handle.taskId)}.`)
  return execution
}

/** Draws a task until it is over, or until `until` says that enough has been seen. */
async function watch(execution: Task, until?: (message: string) => boolean): Promise<void> {
  for await (const { type, ...event } of execution.updates()) {
    if (type !== 'task' || !('task' in event)) return
    // The question itself is shown when the client asks it.
    if (event.task.status !== 'input_required') shown.show(event.task)
    if (until?.(event.task.statusMessage ?? '')) return
  }
}

/** Draws a task to its end, and tells its result. @returns whether there was one. */
async function finish(execution: Task): Promise<boolean> {
  await watch(execution)
  const { outcome } = await execution.settle()
  const fault = outcome.status === 'failed' ? outcome.error.message : undefined
  shown.show({ status: outcome.status, statusMessage: outcome.task?.statusMessage ?? fault })
  shown.settle()
  if (outcome.status !== 'completed') return false
  const { isError, structuredContent, content } = outcome.result as {
    isError?: boolean
    structuredContent?: { files: number; lines: number; sha256: string }
    content: { text?: string }[]
  }
  if (isError || !structuredContent) say(`  ${screen.bold('Result:')} ${content[0]?.text}`)
  else {
    const { files, lines, sha256 } = structuredContent
    const text = `${files} files, ${lines.toLocaleString('en')} lines, checksum ${sha256.slice(0, 12)}…`
    say(`  ${screen.bold('Result:')} ${text}`)
  }
  return true
}

/** What the job server itself says: it knows nothing of tasks. */
async function askJobServer(server: Program, path: string) {
  const response = await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
  return (await response.json()) as { jobs: { id: string }[]; percent: number }
}

async function story(folder: string): Promise<boolean> {
  const jobServer = await startProgram('./job-server.ts', { JOBS_TOKEN: TOKEN, PORT: '0' })
  const env = { JOBS_URL: jobServer.url, JOBS_TOKEN: TOKEN, STORE: join(folder, 'jobs.lmdb') }
  let mcpServer = await startProgram('./mcp-server.ts', { ...env, PORT: '0' })
  say(`A job server runs at ${jobServer.url}: it starts scripts, and knows nothing of MCP.`)
  say(`An MCP server wraps it at ${mcpServer.url}: the tool survey_folder, described as data.`)
  say()

  say(screen.bold('1. A job from call to result'))
  let session = await connect(mcpServer.url)
  const firstEnded = await finish(await call(session))
  say()

  say(screen.bold('2. A job that outlives its MCP server'))
  const second = await call(session)
  const { taskId } = second.handle
  await watch(second, (message) => /\([1-9]\d%\)/.test(message))
  shown.settle()
  const reference = second.serializeReference()
  await second.detach()
  await mcpServer.kill('SIGKILL')
  say(`  ${screen.bold('The MCP server was just killed')} (SIGKILL: no chance to save anything). The job runs on:`)
  await session.client.close()
  await pause(READING_MS)
  const made = (await askJobServer(jobServer, '/jobs')).jobs
  say(`  the job server says that it is ${(await askJobServer(jobServer, `/jobs/${made.at(-1)?.id}`)).percent}% done.`)
  await pause(READING_MS)
  mcpServer = await startProgram('./mcp-server.ts', { ...env, PORT: new URL(mcpServer.url).port })
  say('  The MCP server was started again. A new session takes the same task up:')
  session = await connect(mcpServer.url)
  shown = new TaskView(screen)
  const resumed = await session.tasks.resumeTask(reference)
  if (resumed.kind !== 'task') throw new Error('The task was not found again.')
  const secondEnded = await finish(resumed)
  await session.close()
  say()

  const jobs = (await askJobServer(jobServer, '/jobs')).jobs.length
  const sameTask = resumed.handle.taskId === taskId
  say(screen.bold('What happened'))
  say(`  Two calls made ${jobs} jobs: ${jobs === 2 ? 'none was started twice' : 'THAT IS WRONG'}.`)
  say(`  Task ${taskId} kept its id through the crash: ${sameTask ? 'the same before and after' : 'NO'}.`)
  say('  Nothing polled in the background: each state was read from the job server when the client looked.')
  return firstEnded && secondEnded && jobs === 2 && sameTask
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-job-tools-demo-'))
  let ending: Promise<void> | undefined
  const end = () => {
    shown.settle()
    ending ??= endPrograms().then(() => rm(folder, { recursive: true, force: true }))
    return ending
  }
  const leave = (code: number) => void end().finally(() => process.exit(code))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => leave(130))
  // Whoever reads this may have seen enough (`| head`), or closed the terminal.
  process.stdout.on('error', () => leave(1))
  try {
    if (!(await story(folder))) process.exitCode = 1
  } catch (error) {
    // While everything is being ended, nothing else can go well.
    if (ending) return
    shown.settle()
    say(`The demo went wrong: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  } finally {
    await end()
  }
}

await main()
