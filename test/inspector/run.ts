import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startServer } from '../conformance/server.js'
import { startUpstream } from '../conformance/upstream.js'

/*
 * The MCP Inspector's command line against job tools over a real HTTP service. It is not among the dev dependencies, as it needs Node
 * 22: INSPECTOR names its program, NODE_BIN a Node that runs it.
 */

const run = promisify(execFile)
const { INSPECTOR, NODE_BIN = process.execPath } = process.env
if (!INSPECTOR) throw new Error('INSPECTOR must name the mcp-inspector program')

const upstream = await startUpstream()
const server = await startServer(upstream.url, true)
let passed = 0
let failed = 0
const inspect = async (...args: string[]) => {
  const { stdout } = await run(NODE_BIN, [INSPECTOR, '--cli', server.url, '--transport', 'http', ...args])
  return JSON.parse(stdout)
}
const check = async (name: string, test: () => Promise<boolean>) => {
  const good = await test().catch((error: unknown) => {
    console.log(error)
    return false
  })
  console.log(`${good ? 'ok  ' : 'FAIL'} ${name}`)
  if (good) passed++
  else failed++
}

await check('lists the job tools, and the handle tools beside them', async () => {
  const names = (await inspect('--method', 'tools/list')).tools.map(({ name }: { name: string }) => name)
  return ['greet', 'slow_compute', 'job_status', 'job_cancel', 'job_answer'].every((name) => names.includes(name))
})
await check('calls a job tool and gets its result', async () => {
  const { content } = await inspect('--method', 'tools/call', '--tool-name', 'slow_compute', '--tool-arg', 'seconds=1')
  return content[0].text.startsWith('compute')
})
await check('is told of a question, with a handle', async () => {
  const { content } = await inspect(
    '--method',
    'tools/call',
    '--tool-name',
    'confirm_delete',
    '--tool-arg',
    'filename=a',
  )
  return content[0].text.startsWith('NOT FINISHED') && content[0].text.includes('job_answer')
})
await server.close()
await upstream.close()
console.log(`inspector: ${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0
