import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { listen } from '../support/listen.js'
import { world } from '../support/world.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const realTime = {
  get now() {
    return Date.now()
  },
  set now(_: number) {},
}

async function heap(): Promise<number> {
  // What a closed stream leaves goes with the next turns of the loop.
  for (let turn = 0; turn < 5; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    collect()
  }
  return process.memoryUsage().heapUsed
}

describe('1,000 listeners on 100 tasks', { timeout: 120_000 }, () => {
  it('cost at most one read per task and interval, and leave nothing behind', async () => {
    const w = await world({ policy: { pollIntervalMs: 1_000, minPollIntervalMs: 20 }, clock: realTime })
    const users = Array.from({ length: 20 }, (_, at) => `user-${at}`)
    // Five tasks and fifty streams of each of twenty owners.
    const tasks = await Promise.all(
      users.flatMap((user) => Array.from({ length: 5 }, async () => ({ user, taskId: await w.start({}, { user }) }))),
    )
    const open = async () => {
      const streams = await Promise.all(
        users.flatMap((user) => {
          const own = tasks.filter((task) => task.user === user).map(({ taskId }) => taskId)
          return Array.from({ length: 50 }, () => listen(w.url, { taskIds: own }, { user }))
        }),
      )
      for (const { next } of streams) expect((await next()).params.notifications.taskIds).toHaveLength(5)
      return streams
    }
    /** Goes away, and waits until the server has noticed: nobody listens, so nothing is read. */
    const leave = async (streams: Awaited<ReturnType<typeof open>>) => {
      for (const { stop } of streams) stop()
      await expect
        .poll(
          async () => {
            const reads = w.up.requests.length
            await new Promise((resolve) => setTimeout(resolve, 1_500))
            return w.up.requests.length - reads
          },
          { timeout: 20_000 },
        )
        .toBe(0)
    }
    await leave(await open())
    await leave(await open())
    const before = await heap()
    const began = Date.now()
    const reads = w.up.requests.length
    const streams = await open()
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    const intervals = Math.ceil((Date.now() - began) / 1_000) + 1
    expect(w.up.requests.length - reads).toBeLessThanOrEqual(tasks.length * intervals)
    await leave(streams)
    const after = await heap()
    expect(after - before).toBeLessThan(20_000_000)
  })
})
