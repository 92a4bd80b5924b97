import { afterEach, describe, expect, it, vi } from 'vitest'
import { Screen, TaskView } from '../../examples/demo/draw.js'

afterEach(() => void vi.useRealTimers())

const CODES = /\u001b\[[?\d;]*[a-zA-Z]/g

/** A screen over a terminal, or a pipe, that keeps what is written. */
function screenOf(terminal: { isTTY?: boolean; columns?: number }, env: Record<string, string> = {}) {
  let text = ''
  const output = {
    ...terminal,
    write: (more: string) => {
      text += more
    },
  }
  return { screen: new Screen({ output, env }), text: () => text }
}

function life(view: TaskView): void {
  view.show({ status: 'working', statusMessage: 'Started: job 1.' })
  view.show({ status: 'working', statusMessage: 'counting lines (10%)' })
  view.show({ status: 'working', statusMessage: 'counting lines (100%)' })
  view.show({ status: 'input_required', statusMessage: 'Go on?' })
  view.settle()
  view.show({ status: 'completed', statusMessage: 'the report is ready' })
  view.settle()
}

describe('the life of a task', () => {
  it('is a line for each change, and no code of any terminal, in a file', () => {
    const { screen, text } = screenOf({})
    life(new TaskView(screen))
    expect(text().split('\n')).toEqual([
      '  working: Started: job 1.',
      '  working: counting lines (10%)',
      '  working: counting lines (100%)',
      '  needs a person: Go on?',
      '  completed: the report is ready',
      '',
    ])
  })

  it('is a line for each stage on a terminal, with the progress redrawn below', () => {
    const { screen, text } = screenOf({ isTTY: true, columns: 80 })
    life(new TaskView(screen, () => 0))
    // What a terminal shows in the end: what was redrawn has gone.
    const left = text()
      .split('\n')
      .map((line) => (line.split('\u001b[2K').at(-1) ?? '').replace(CODES, '').trimEnd())
    expect(left).toEqual([
      '    0.0 s  · working         Started: job 1.',
      '    0.0 s  · working         counting lines',
      '    0.0 s  ? needs a person  Go on?',
      '    0.0 s  ✓ completed       the report is ready',
      '',
    ])
    expect(text()).toContain('█')
    expect(text()).toMatch(/\u001b\[36m/)
  })

  it('leaves the cursor as it was', () => {
    const { screen, text } = screenOf({ isTTY: true })
    life(new TaskView(screen))
    expect(text().split('\u001b[?25l').length).toBe(text().split('\u001b[?25h').length)
    expect(text().lastIndexOf('\u001b[?25h')).toBeGreaterThan(text().lastIndexOf('\u001b[?25l'))
  })

  it.each([20, 30, 40, 80, 200])('never wraps the line that is redrawn, at %i columns', (columns) => {
    const { screen, text } = screenOf({ isTTY: true, columns })
    life(new TaskView(screen, () => 0))
    const redrawn = [...text().matchAll(/\u001b\[\?25l(.*?)\r/g)].map(([, line = '']) => line.replace(CODES, ''))
    expect(redrawn.length).toBeGreaterThan(0)
    for (const line of redrawn) expect([...line].length).toBeLessThan(columns)
  })

  it.each([
    ['NO_COLOR', { NO_COLOR: '1' }],
    ['a dumb terminal', { TERM: 'dumb' }],
  ])('has no colors with %s', (_, env) => {
    const { screen, text } = screenOf({ isTTY: true }, env as unknown as Record<string, string>)
    life(new TaskView(screen))
    expect(text()).not.toMatch(/\u001b\[\d+m/)
  })

  it('goes on moving between two looks, and stops with the task', () => {
    vi.useFakeTimers()
    const { screen, text } = screenOf({ isTTY: true })
    const view = new TaskView(screen)
    view.show({ status: 'working', statusMessage: 'counting lines (10%)' })
    const before = text().length
    vi.advanceTimersByTime(1_000)
    expect(text().slice(before)).toContain('1.0 s')
    view.settle()
    const after = text().length
    vi.advanceTimersByTime(1_000)
    expect(text()).toHaveLength(after)
  })
})
