import { faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { FailingStore } from '../support/failing-store.js'
import { rpc } from '../support/rpc.js'
import { closing, world } from '../support/world.js'

const alice = { user: 'alice' }
const bob = { user: 'bob' }

describe('identity', () => {
  it('gives ids of at least 128 random bits, url-safe, with nothing of the job in them', async () => {
    const w = await world()
    const ids = await Promise.all(Array.from({ length: 50 }, () => w.start()))
    expect(new Set(ids).size).toBe(50)
    for (const id of ids) {
      expect(id).toMatch(/^[A-Za-z0-9_-]+$/)
      expect(Buffer.from(id, 'base64url').length * 8).toBeGreaterThanOrEqual(128)
    }
  })

  const strange: [string, unknown][] = [
    ['another owner', undefined],
    ['unknown, well formed', 'A'.repeat(32)],
    ['malformed', 'nope'],
    ['empty', ''],
    ['no text', 42],
    ['absent', undefined],
    ['an object', { $ne: null }],
    ['a prototype member', '__proto__'],
    ['constructor', 'constructor'],
    ['a path', '../../jobs/1'],
    ['NUL', 'a\u0000b'],
    ['CR and LF', 'a\r\nb'],
    ['a megabyte', 'x'.repeat(1_000_000)],
  ]
  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s answers foreign, unknown and malformed ids with the same bytes, and asks nothing of the upstream',
    async (method) => {
      const w = await world()
      const mine = await w.start({}, alice)
      const before = w.up.requests.length
      const answers = new Set<string>()
      for (const [what, id] of strange) {
        const taskId = what === 'another owner' ? mine : id
        const { text, error } = await rpc(w.url, method, { taskId, inputResponses: {} }, bob)
        if (error?.code === -32020) continue // The SDK refused the header: the library was never asked.
        expect(error, what).toEqual({ code: -32602, message: 'Task not found' })
        answers.add(text.replace(/"id":\d+/, ''))
      }
      expect(answers.size).toBe(1)
      expect(w.up.requests).toHaveLength(before)
    },
  )

  it('never gives a malformed id to the store', async () => {
    const store = new FailingStore()
    const asked: string[] = []
    const get = store.get.bind(store)
    store.get = (key) => {
      asked.push(key)
      return get(key)
    }
    const w = await world({ options: { store } })
    await w.get('not-an-id-of-ours')
    expect(asked.join()).not.toContain('not-an-id-of-ours')
  })

  it('lets the owner read, answer and cancel, and nobody else', async () => {
    const w = await world()
    const taskId = await w.start({}, alice)
    w.up.setState('1', { status: 'waiting', questions: [{ key: 'go', text: 'Go on?' }] })
    expect((await w.get(taskId, alice)).result.status).toBe('input_required')
    expect((await w.update(taskId, { go: { action: 'accept', content: {} } }, bob)).error?.code).toBe(-32602)
    expect((await w.cancel(taskId, bob)).error?.code).toBe(-32602)
    expect(w.up.count('POST', '/jobs/1/answer') + w.up.count('POST', '/jobs/1/cancel')).toBe(0)
    expect((await w.update(taskId, { go: { action: 'accept', content: {} } }, alice)).result).toMatchObject({
      resultType: 'complete',
    })
  })

  it('keeps the owner over token rotation, reconnection and another connection', async () => {
    const w = await world()
    // Each request of the test client carries another token, and comes over a connection of its own.
    const taskId = await w.start({}, alice)
    expect((await w.get(taskId, alice)).result.taskId).toBe(taskId)
  })

  it('keeps what was made with and without authentication apart', async () => {
    const w = await world()
    const anonymous = await w.start()
    const owned = await w.start({}, alice)
    expect((await w.get(anonymous, alice)).error?.message).toBe('Task not found')
    expect((await w.get(owned)).error?.message).toBe('Task not found')
    expect((await w.get(anonymous)).result.status).toBe('working')
  })

  it('refuses an authenticated request without a subject, and says what to configure', async () => {
    const w = await world()
    const { error } = await w.call({}, { user: '-' })
    expect(error).toMatchObject({ code: -32603, message: expect.stringMatching(/names? no subject.*owner/) })
    expect(w.up.count('POST', '/jobs')).toBe(0)
    expect((await w.get('A'.repeat(32), { user: '-' })).error?.code).toBe(-32603)
  })

  it.each([
    ['a number', () => 42, true],
    ['text', () => 'team-7', true],
    ['nothing', () => undefined, false],
    ['empty text', () => '', false],
    ['an object', () => ({ id: 1 }), false],
    ['NaN', () => Number.NaN, false],
  ])('takes %s from a custom owner function for a subject or not', async (_, owner, counts) => {
    const w = await world({ options: { owner } })
    const { result, error } = await w.call({}, alice)
    if (counts) expect((await w.get(result.taskId, bob)).result.status).toBe('working')
    else expect(error?.code).toBe(-32603)
  })

  it('stores owners hashed', async () => {
    const store = new FailingStore()
    const w = await world({ options: { store } })
    await w.start({}, { user: 'alice@example.org' })
    expect(store.dump()).not.toContain('alice')
  })

  it('finds a task from a second replica at once', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const store = new Map()
    const one = await world({ up, options: { store } })
    const two = await world({ up, options: { store } })
    const taskId = await one.start({}, alice)
    expect((await two.get(taskId, alice)).result.status).toBe('working')
    expect((await two.get(taskId, bob)).error?.code).toBe(-32602)
  })
})
