import { describe, expect, it } from 'vitest'
import { FailingStore } from '../support/failing-store.js'
import { world } from '../support/world.js'

async function failing() {
  const store = new FailingStore()
  const w = await world({ options: { store } })
  return { store, w, taskId: await w.start() }
}

describe('a store that is down', () => {
  it('gives -32603 on every task method, never "not found", and the task is there again with the store', async () => {
    const { store, w, taskId } = await failing()
    store.failReads = true
    for (const { error } of [
      await w.get(taskId),
      await w.cancel(taskId),
      await w.update(taskId, { a: { action: 'accept' } }),
      await w.get('A'.repeat(32)),
    ]) {
      expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('task store') })
    }
    store.failReads = false
    expect((await w.get(taskId)).result.status).toBe('working')
  })
  it('never lets a call make a task that is not there', async () => {
    const { store, w } = await failing()
    store.failReads = true
    expect((await w.call()).error?.code).toBe(-32603)
    expect(w.up.count('POST', '/jobs')).toBe(1)
  })
  it('still answers a running task when only writes fail, and never invents an end', async () => {
    const { store, w, taskId } = await failing()
    store.failWrites = true
    w.up.setState('1', { status: 'done', output: 'x' })
    expect((await w.get(taskId)).error?.code).toBe(-32603)
    store.failWrites = false
    expect((await w.until(taskId, 'completed')).result.result.content[0].text).toBe('x')
  })
})

describe('one stored entry that cannot be used', () => {
  const damaged: [string, string, RegExp][] = [
    ['not JSON', 'rubbish', /is not JSON/],
    ['of a newer version', JSON.stringify({ v: 2, anything: true }), /newer version/],
    ['of no version', JSON.stringify({ id: 'x' }), /is damaged/],
    ['of the wrong shape', JSON.stringify({ v: 1, id: 7 }), /is damaged/],
  ]
  it.each(damaged)('(%s) is an internal error for that task only', async (_, value, words) => {
    const { store, w, taskId } = await failing()
    const other = await w.start()
    store.put(`mcp-jobs:job:${taskId}`, JSON.stringify({ v: value, e: null }))
    const { error } = await w.get(taskId)
    expect(error).toMatchObject({ code: -32603, message: expect.stringMatching(words) })
    expect((await w.get(other)).result.status).toBe('working')
  })
})
