import { parseJson, tailLines } from '../http/index.js'

/*
 * The functions that expressions have besides JSONata's own, and those of JSONata's own that would not stay within bounds: an answer of
 * some megabytes must neither hold the process up nor end it.
 */

/** What JSONata hands a function as `this`. */
interface Focus {
  createSequence(...items: unknown[]): unknown[]
}

/** `$pad` allocates its width at once, and a huge one ends the process. */
const WIDEST_PAD = 10_000
const DEFAULT_TAIL_LINES = 200
const MOST_TAIL_BYTES = 100_000

/** A function with its JSONata signature. */
export type OwnFunction = [implementation: (this: Focus, ...given: never[]) => unknown, signature: string]

/** By the names that expressions call them by, without the `$`. */
export const OWN_FUNCTIONS: Readonly<Record<string, OwnFunction>> = {
  json: [json, '<s-:x>'],
  tail: [tail, '<s-n?:s>'],
  pad: [pad, '<s-ns?:s>'],
  sort: [sort, '<af?:a>'],
  distinct: [distinct, '<x:x>'],
  spread: [spread, '<x-:a<o>>'],
}

/** JSON inside JSON, without losing digits. */
function json(text: string | undefined): unknown {
  return text === undefined ? undefined : parseJson(text)
}

/** The last lines of a text, and at most 100,000 bytes of them. */
function tail(text: string | undefined, lines = DEFAULT_TAIL_LINES): string | undefined {
  if (text === undefined) return undefined
  return tailLines(text, { lines: Math.trunc(lines), bytes: MOST_TAIL_BYTES }).text
}

function pad(text: string | undefined, width: number, filling = ' '): string | undefined {
  if (text === undefined) return undefined
  const size = Math.trunc(width)
  if (!(Math.abs(size) <= WIDEST_PAD)) throw new Error(`$pad: the width must lie within ${WIDEST_PAD}`)
  const fill = filling === '' ? ' ' : filling
  return size < 0 ? text.padStart(-size, fill) : text.padEnd(size, fill)
}

/** JSONata's functions are objects, with all their surroundings in them. */
export function isJsonataFunction(value: object): boolean {
  return '_jsonata_lambda' in value || '_jsonata_function' in value
}

type Swap = (left: unknown, right: unknown) => Promise<unknown>

/** JSONata's own runs out of memory over some ten thousand items. */
async function sort(list: unknown[] | undefined, swap?: Swap): Promise<unknown> {
  if (list === undefined || list.length <= 1) return list
  if (swap) return mergeSort(list, swap)
  const [first] = list
  const kind = typeof first
  if ((kind !== 'number' && kind !== 'string') || list.some((item) => typeof item !== kind))
    throw new Error('$sort: without a function, the items must be all numbers or all texts')
  return (list as number[]).toSorted((one, other) => (one > other ? 1 : one < other ? -1 : 0))
}

async function mergeSort(list: readonly unknown[], swap: Swap): Promise<unknown[]> {
  let sorted = [...list]
  for (let width = 1; width < sorted.length; width *= 2) {
    const merged: unknown[] = []
    for (let start = 0; start < sorted.length; start += 2 * width) {
      const right = sorted.slice(start + width, start + 2 * width)
      let taken = 0
      for (const item of sorted.slice(start, start + width)) {
        while (taken < right.length && (await swap(item, right[taken]))) merged.push(right[taken++])
        merged.push(item)
      }
      while (taken < right.length) merged.push(right[taken++])
    }
    sorted = merged
  }
  return sorted
}

/** JSONata's own compares each item with each. */
function distinct(this: Focus, list: unknown): unknown {
  if (!Array.isArray(list) || list.length <= 1) return list
  const result = 'sequence' in list ? this.createSequence() : []
  const [objects, others] = [new Set<string>(), new Set<unknown>()]
  for (const item of list) {
    const isObject = typeof item === 'object' && item !== null
    const [seen, identity]: [Set<unknown>, unknown] = isObject ? [objects, canonical(item)] : [others, item]
    if (seen.has(identity)) continue
    seen.add(identity)
    result.push(item)
  }
  return result
}

/** Equal for values that JSONata holds for equal: the order of members does not matter. */
function canonical(value: object): string {
  return JSON.stringify(value, (_name, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)))
  })
}

/** JSONata's own copies all it has for each item that it adds. */
function spread(this: Focus, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || isJsonataFunction(value)) return value
  // A sequence of one item stands for the item; a list does not.
  const result = Array.isArray(value) && value.length > 0 ? [] : this.createSequence()
  const add = (item: unknown): void => {
    if (Array.isArray(item)) for (const each of item) add(each)
    else if (typeof item !== 'object' || item === null) result.push(item)
    else for (const [name, member] of Object.entries(item)) result.push({ [name]: member })
  }
  add(value)
  return result
}
