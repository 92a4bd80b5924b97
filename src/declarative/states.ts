import type { Phase } from '../define/index.js'

/** Looks words up. @returns undefined for a word that is not in the table. */
export type StateTable = (word: string) => Phase | undefined

/** A status value as text: absent and null are the empty text. */
export function statusWord(values: readonly unknown[]): string {
  return values
    .map((value) =>
      value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value),
    )
    .join('/')
}

/** Fewer stars are more specific; among equals, a star further to the right. */
function specificity(pattern: string): [stars: number, firstStar: number] {
  const parts = pattern.split('/')
  const first = parts.indexOf('*')
  return [parts.filter((part) => part === '*').length, first < 0 ? Number.MAX_SAFE_INTEGER : first]
}

/**
 * A table of states. `*` stands for any one word of a joined status, and alone for any status at all. The most specific entry
 * wins, in whatever order they are written. Own members only: `constructor` is a word like any other.
 */
export function stateTable(states: Record<string, Phase>, caseInsensitive = false): StateTable {
  const fold = (word: string) => (caseInsensitive ? word.toLowerCase() : word)
  const exact = new Map<string, Phase>()
  const wild: { parts: string[]; phase: Phase }[] = []
  let any: Phase | undefined
  const entries = Object.entries(states).sort(([one], [other]) => {
    const [stars, first] = specificity(one)
    const [otherStars, otherFirst] = specificity(other)
    return stars - otherStars || otherFirst - first
  })
  for (const [pattern, phase] of entries) {
    if (pattern === '*') any = phase
    else if (pattern.split('/').includes('*')) wild.push({ parts: fold(pattern).split('/'), phase })
    else exact.set(fold(pattern), phase)
  }
  return (word) => {
    const folded = fold(word)
    const found = exact.get(folded)
    if (found) return found
    const parts = folded.split('/')
    const match = wild.find(
      (entry) =>
        entry.parts.length === parts.length && entry.parts.every((part, at) => part === '*' || part === parts[at]),
    )
    return match?.phase ?? any
  }
}
