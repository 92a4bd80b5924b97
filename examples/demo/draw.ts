/* How the demo shows the life of a task: redrawn in place on a terminal, line by line elsewhere. */

const BAR_WIDTH = 28
const colors = process.stdout.isTTY && !process.env.NO_COLOR
const paint = (code: number) => (text: string) => (colors ? `\u001b[${code}m${text}\u001b[0m` : text)

export const bold = paint(1)
export const dim = paint(2)
const STATUS_COLORS: Record<string, (text: string) => string> = {
  working: paint(36),
  input_required: paint(33),
  completed: paint(32),
  failed: paint(31),
  cancelled: paint(35),
}
const STATUS_WORDS: Record<string, string> = {
  working: 'working',
  input_required: 'needs a person',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
}

/** What is shown of a task. */
export interface Shown {
  readonly status: string
  readonly statusMessage?: string | undefined
}

const width = () => Math.max(20, process.stdout.columns || 100)

/** Cuts a line to the terminal, so that redrawing never leaves half a line behind. */
function cut(line: string): string {
  return line.length > width() - 1 ? `${line.slice(0, width() - 2)}…` : line
}

function bar(percent: number): string {
  const full = Math.round((percent / 100) * BAR_WIDTH)
  return `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${String(percent).padStart(3)}%`
}

/** Says something to the reader. */
export function say(text = ''): void {
  console.log(text)
}

/** Shows one task. */
export class TaskView {
  private lines = 0
  private last = ''
  private percent = 0
  private paused = false
  private readonly began = Date.now()

  constructor(private readonly redraw: boolean) {}

  /** Shows the present state. */
  show(task: Shown): void {
    if (this.paused) return
    const message = task.statusMessage ?? ''
    const found = /\((\d+)%\)/.exec(message)?.[1]
    if (found) this.percent = Number(found)
    if (task.status === 'completed') this.percent = 100
    const word = STATUS_WORDS[task.status] ?? task.status
    const seconds = `${((Date.now() - this.began) / 1000).toFixed(1)} s`
    if (this.redraw) {
      const color = STATUS_COLORS[task.status] ?? ((text: string) => text)
      this.draw([
        `  ${color(word.padEnd(14))} ${bar(this.percent)}  ${dim(seconds)}`,
        `  ${cut(message).slice(0, width() - 3)}`,
      ])
      return
    }
    const line = `  ${word}: ${message}`
    if (line !== this.last) say(cut(line))
    this.last = line
  }

  /** Leaves what is drawn where it is: what follows goes below. */
  settle(): void {
    this.lines = 0
  }

  /** Draws nothing while a person is asked: it would write over the question. */
  async during<T>(question: () => Promise<T>): Promise<T> {
    this.settle()
    this.paused = true
    try {
      return await question()
    } finally {
      this.paused = false
    }
  }

  private draw(lines: string[]): void {
    if (this.lines > 0) process.stdout.write(`\u001b[${this.lines}A`)
    for (const line of lines) process.stdout.write(`\u001b[2K${line}\n`)
    this.lines = lines.length
  }
}
