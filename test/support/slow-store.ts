import { setTimeout as sleep } from 'node:timers/promises'
import { memoryBackend } from '../../src/store/memory.js'
import { BACKEND, type OwnStore } from '../../src/store/types.js'

/** A store in memory whose reads take a while: what two requests read at a time is then the same, and their claims really race. */
export function slowStore(readMs = 30): OwnStore {
  const backend = memoryBackend(Date.now)
  const main = {
    ...backend.main,
    getMany: async (keys: readonly string[]) => {
      const values = await backend.main.getMany(keys)
      await sleep(readMs)
      return values
    },
  }
  return { [BACKEND]: () => ({ ...backend, main }) }
}
