/* How the demo shows the life of a task: redrawn in place on a terminal, a line for each change elsewhere. */

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const REDRAW_MS = 100
const LONGEST_BAR = 30
const SHORTEST_BAR = 8
/** What stands beside the bar: margin, spinner, percentage and seconds. */
const BESIDE_THE_BAR = 22

const STATUSES: Record<string, { word: string; mark: string; color: number }> = {
  working: { word: 'working', mark: '·', color: 36 },
  input_required: { word: 'needs a person', mark: '?', color: 33 },
  completed: { word: 'completed', mark: '✓', color: 32 },
  failed: { word: 'failed', mark: '✗', color: 31 },
  cancelled: { word: 'cancelled', mark: '✗', color: 35 },
}
const WORD_WIDTH = 15

/** Where is drawn: standard output, or what a test gives. */
export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** What is shown of a task. */
export interface Shown {
  readonly status: string
  readonly statusMessage?: string | undefined
}

/** Options of {@link Screen}. */
export interface ScreenOptions {
  output?: Output
  env?: Record<string, string | undefined>
  /** Whether lines are redrawn in place. Default: when the output is a terminal. */
  live?: boolean
}

/** Writes to a reader. */
export class Screen {
  readonly live: boolean
  private readonly colors: boolean
  private readonly output: Output

  constructor(options: ScreenOptions = {}) {
    const { output = process.stdout, env = process.env } = options
    this.output = output
    const terminal = output.isTTY === true && env.TERM !== 'dumb'
    this.live = terminal && (options.live ?? true)
    this.colors = terminal && !env.NO_COLOR
  }

  get width(): number {
    return Math.max(20, this.output.columns || 100)
  }

  paint(code: number, text: string): string {
    return this.colors ? `\u001b[${code}m${text}\u001b[0m` : text
  }

  bold(text: string): string {
    return this.paint(1, text)
  }

  dim(text: string): string {
    return this.paint(2, text)
  }

  write(text: string): void {
    this.output.write(text)
  }

  say(text = ''): void {
    this.write(`${text}\n`)
  }
}

/** Splits a message into what it says and the percentage that it ends with. Tasks have no field for progress. */
function percentIn(message: string): { text: string; percent: number | undefined } {
  const found = /\s*\((\d+)%\)\s*$/.exec(message)
  return found
    ? { text: message.slice(0, found.index), percent: Number(found[1]) }
    : { text: message, percent: undefined }
}

/** Shows one task: its past as lines, and below them, on a terminal, where it is now. */
export class TaskView {
  private readonly began: number
  private task: Shown | undefined
  private percent = 0
  private frame = 0
  private last = ''
  private drawn = false
  private ticking: NodeJS.Timeout | undefined

  constructor(
    private readonly screen: Screen,
    private readonly now: () => number = Date.now,
  ) {
    this.began = now()
  }

  /** Shows the present state. */
  show(task: Shown): void {
    this.task = task
    const { text, percent } = percentIn(task.statusMessage ?? '')
    if (percent !== undefined) this.percent = Math.min(percent, 100)
    if (task.status === 'completed') this.percent = 100
    const { word, mark, color } = STATUSES[task.status] ?? { word: task.status, mark: '·', color: 0 }
    const { screen } = this
    if (!screen.live) {
      const line = `  ${word}: ${task.statusMessage ?? ''}`
      if (line !== this.last) screen.say(line)
      this.last = line
      return
    }
    this.erase()
    if (`${word} ${text}` !== this.last) {
      const state = screen.paint(color, `${mark} ${word.padEnd(WORD_WIDTH)}`)
      screen.say(`  ${screen.dim(this.seconds())}  ${state} ${text}`)
      this.last = `${word} ${text}`
    }
    this.draw()
    this.ticking ??= setInterval(() => {
      this.frame++
      this.erase()
      this.draw()
    }, REDRAW_MS)
  }

  /** Leaves what is drawn where it is: what follows goes below. */
  settle(): void {
    clearInterval(this.ticking)
    this.ticking = undefined
    this.erase()
  }

  private seconds(): string {
    return `${((this.now() - this.began) / 1000).toFixed(1)} s`.padStart(7)
  }

  private erase(): void {
    if (this.drawn) this.screen.write('\r\u001b[2K\u001b[?25h')
    this.drawn = false
  }

  /** Where the task is now, on the line that the cursor is in. It must not wrap: it could not be redrawn. */
  private draw(): void {
    const { screen, percent } = this
    const color = STATUSES[this.task?.status ?? '']?.color ?? 0
    if (this.task?.status !== 'working') return
    const width = Math.min(LONGEST_BAR, screen.width - BESIDE_THE_BAR)
    const full = Math.round((percent / 100) * width)
    const bar =
      width < SHORTEST_BAR ? '' : `${screen.paint(color, '█'.repeat(full))}${screen.dim('░'.repeat(width - full))} `
    const spinner = screen.paint(color, SPINNER[this.frame % SPINNER.length] ?? '')
    const line = `  ${screen.dim(this.seconds())}  ${spinner} ${bar}${String(percent).padStart(3)}%`
    screen.write(`\u001b[?25l${line}`)
    this.drawn = true
  }
}
