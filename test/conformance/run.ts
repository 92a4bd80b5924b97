import { execFile } from 'node:child_process'
import { startServer } from './server.js'
import { startUpstream } from './upstream.js'

/*
 * Runs the official conformance suite: every tasks scenario must pass whole, and the base scenarios must give the same passes with
 * job tools attached as without. The suite needs Node 22 or later: NODE_BIN names one, else `npx node@24` fetches it.
 */

const TASK_SCENARIOS = [
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-dispatch-and-envelope',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
]
const BASE_SCENARIOS = ['server-stateless', 'http-header-validation']

interface Score {
  passed: number
  total: number
  output: string
}

function runScenario(url: string, scenario: string): Promise<Score> {
  const suite = ['node_modules/@modelcontextprotocol/conformance/dist/index.js', 'server', '--url', url]
  const options = ['--scenario', scenario, '--spec-version', '2026-07-28', '--force']
  const [command, ...first] = process.env.NODE_BIN ? [process.env.NODE_BIN] : ['npx', '-y', 'node@24']
  return new Promise((resolve) => {
    execFile(
      command as string,
      [...first, ...suite, ...options],
      { maxBuffer: 50_000_000 },
      (_error, stdout, stderr) => {
        const output = `${stdout}${stderr}`
        const score = /Passed: (\d+)\/(\d+)/.exec(output)
        resolve({ passed: Number(score?.[1] ?? 0), total: Number(score?.[2] ?? -1), output })
      },
    )
  })
}

async function main(): Promise<void> {
  const only = process.argv.slice(2)
  const wanted = (names: string[]) => names.filter((name) => only.length === 0 || only.includes(name))
  const upstream = await startUpstream()
  const withJobs = await startServer(upstream.url, true)
  const without = await startServer(upstream.url, false)
  let passed = 0
  let failed = 0
  const tell = (name: string, good: boolean, score: Score, note = '') => {
    if (good) passed++
    else failed++
    console.log(`${good ? 'ok  ' : 'FAIL'} ${name}: ${score.passed}/${score.total}${note}`)
    if (!good) console.log(score.output)
  }
  try {
    for (const name of wanted(TASK_SCENARIOS)) {
      const score = await runScenario(withJobs.url, name)
      tell(name, score.passed === score.total, score)
    }
    for (const name of wanted(BASE_SCENARIOS)) {
      const [mine, plain] = [await runScenario(withJobs.url, name), await runScenario(without.url, name)]
      const same = mine.total > 0 && mine.passed === plain.passed && mine.total === plain.total
      tell(name, same, mine, ` (without job tools ${plain.passed}/${plain.total})`)
    }
  } finally {
    await Promise.all([withJobs.close(), without.close()])
    await upstream.close()
  }
  console.log(`conformance: ${passed} passed, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
}

await main()
