import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)

describe('npm run demo', () => {
  it('tells the story without a terminal, and leaves nothing running', { timeout: 120_000 }, async () => {
    const mark = `demo-test-${process.pid}-${Date.now()}`
    const { stdout } = await run('npm', ['run', '--silent', 'demo'], {
      cwd: root,
      env: { ...process.env, DEMO_MARK: mark },
    })
    const parts = [
      '1. A job from call to result',
      'The call answered at once with task',
      'counting lines (',
      'needs a person',
      'Question: Counted',
      'Answer: yes',
      'completed: the report is ready',
      'Result:',
      '2. A job that outlives its MCP server',
      'The MCP server was just killed',
      'A new session takes the same task up',
      'completed: the report is ready',
      'Two calls made 2 jobs',
      'the same before and after',
    ]
    let at = 0
    for (const part of parts) {
      const found = stdout.indexOf(part, at)
      expect(found, `"${part}" after\n${stdout.slice(0, at)}`).toBeGreaterThanOrEqual(0)
      at = found
    }
    // Every process of the demo carries the mark in its environment.
    const { stdout: left } = await run('bash', ['-c', `grep -lz "${mark}" /proc/[0-9]*/environ 2>/dev/null || true`])
    const others = left.split('\n').filter((path) => path !== '' && !path.includes(`/${process.pid}/`))
    expect(others).toEqual([])
  })
})
