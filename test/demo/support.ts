import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Command line of a program of the demo, with nothing between us and its process. */
export const program = (file: string) => ['--import', 'tsx', `${root}/examples/demo/${file}`]

/** Processes that carry this mark in their environment, and so come from the run that set it. Linux only: elsewhere none is found. */
export function processesWith(mark: string): number[] {
  let pids: number[]
  try {
    pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
  return pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark)
    } catch {
      // Ended meanwhile, or somebody else's.
      return false
    }
  })
}

/** Waits until none is left. */
export async function allGone(mark: string): Promise<void> {
  while (processesWith(mark).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
}
