import { createInterface } from 'node:readline/promises'
import type { Elicitation } from '../support/task-session.js'
import type { Screen } from './draw.js'

/** What a person decided, as the client wants it. */
export type Decision = { action: 'accept'; content: Record<string, never> } | { action: 'decline' }

const THINKING_MS = 1_200

/** Puts a question to the person at the keyboard; or, without one, thinks for a moment and agrees. */
export async function decide({ message }: Elicitation, screen: Screen, byItself: boolean): Promise<Decision> {
  const question = `  ${screen.bold('Question:')} ${message}`
  if (byItself) {
    screen.say(question)
    await new Promise((resolve) => setTimeout(resolve, THINKING_MS))
    screen.say(`  ${screen.bold('Answer:')} yes ${screen.dim('(given by the demo itself)')}`)
    return { action: 'accept', content: {} }
  }
  const keyboard = createInterface({ input: process.stdin, output: process.stdout })
  // While it reads lines, the keyboard's Ctrl-C is no signal: make it one again. A closed input (Ctrl-D) means the same.
  const leave = () => process.kill(process.pid, 'SIGINT')
  keyboard.once('SIGINT', leave)
  keyboard.once('close', leave)
  const never = new Promise<never>(() => undefined)
  const answer = await keyboard.question(`${question} [Y/n] `).catch(() => never)
  keyboard.off('close', leave)
  keyboard.close()
  return answer.trim().toLowerCase().startsWith('n') ? { action: 'decline' } : { action: 'accept', content: {} }
}
