import { faultyUpstream } from 'mcp-job-tools/testing'
import { describe, expect, it } from 'vitest'
import { slowStore } from '../support/slow-store.js'
import { closing, world } from '../support/world.js'

const approve = { key: 'approve', text: 'Deploy to production?', form: { comment: { type: 'string', optional: true } } }
const named = {
  key: 'name',
  text: 'Which name?',
  form: { name: { type: 'string', minLength: 2 }, level: { type: 'integer', default: 3 } },
}
const yes = (content: Record<string, unknown> = {}) => ({ action: 'accept', content })

async function asking(questions: unknown[] = [approve]) {
  const w = await world()
  const taskId = await w.start()
  w.up.setState('1', { status: 'waiting', message: 'waiting for a person', web: 'https://farm.example/1', questions })
  return { w, taskId }
}

describe("a person's gate", () => {
  it('becomes input_required with an elicitation', async () => {
    const { w, taskId } = await asking([approve, named])
    expect((await w.get(taskId)).result).toMatchObject({
      status: 'input_required',
      inputRequests: {
        approve: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: 'Deploy to production?',
            requestedSchema: { type: 'object', properties: { comment: { type: 'string' } } },
          },
        },
        name: {
          params: {
            requestedSchema: {
              properties: { name: { type: 'string', minLength: 2 }, level: { type: 'integer', default: 3 } },
              required: ['name'],
            },
          },
        },
      },
    })
  })

  it('is answered once: the answer goes upstream, and the task goes on', async () => {
    const { w, taskId } = await asking()
    await w.get(taskId)
    expect((await w.update(taskId, { approve: yes({ comment: 'fine' }) })).result).toMatchObject({
      resultType: 'complete',
    })
    expect(w.up.requests.at(-1)).toMatchObject({
      path: '/jobs/1/answer',
      body: { key: 'approve', answer: { comment: 'fine' } },
    })
    await w.update(taskId, { approve: yes() })
    expect(w.up.count('POST', '/jobs/1/answer')).toBe(1)
    expect((await w.get(taskId)).result.status).toBe('working')
  })

  it('freezes the request behind a key, byte for byte, whatever the upstream says later', async () => {
    const { w, taskId } = await asking()
    const first = JSON.stringify((await w.get(taskId)).result.inputRequests)
    w.up.setState('1', {
      questions: [{ ...approve, text: 'Deploy to STAGING?', form: { other: { type: 'boolean' } } }],
    })
    w.clock.now += 6_000
    expect(JSON.stringify((await w.get(taskId)).result.inputRequests)).toBe(first)
  })

  it('is not shown again while the upstream has not moved on', async () => {
    const { w, taskId } = await asking()
    await w.get(taskId)
    w.up.script.answer.push({ body: {} })
    await w.update(taskId, { approve: yes() })
    for (let look = 0; look < 3; look++) {
      w.clock.now += 6_000
      expect((await w.get(taskId)).result).toMatchObject({ status: 'working' })
    }
    expect((await w.update(taskId, { approve: yes() })).result).toMatchObject({ resultType: 'complete' })
    expect(w.up.count('POST', '/jobs/1/answer')).toBe(1)
  })

  it('gets a new key when it comes back in a later round', async () => {
    const { w, taskId } = await asking()
    for (const key of ['approve', 'approve-2', 'approve-3']) {
      w.up.setState('1', { status: 'waiting', questions: [approve] })
      w.clock.now += 6_000
      expect(Object.keys((await w.get(taskId)).result.inputRequests)).toEqual([key])
      await w.update(taskId, { [key]: yes() })
      w.clock.now += 6_000
      expect((await w.get(taskId)).result.status).toBe('working')
    }
    // Keys of earlier rounds are ignored for ever.
    await w.update(taskId, { approve: yes(), 'approve-2': yes() })
    expect(w.up.count('POST', '/jobs/1/answer')).toBe(3)
  })

  it('keeps the rest open after a partial answer', async () => {
    const { w, taskId } = await asking([approve, named])
    await w.get(taskId)
    w.up.script.answer.push({ body: {} })
    await w.update(taskId, { approve: yes() })
    expect((await w.get(taskId)).result).toMatchObject({ status: 'input_required' })
    expect(Object.keys((await w.get(taskId)).result.inputRequests)).toEqual(['name'])
  })

  it('refuses an answer that does not fit, naming key and field, and consumes nothing', async () => {
    const { w, taskId } = await asking([approve, named])
    await w.get(taskId)
    const { error } = await w.update(taskId, { approve: yes(), name: yes({ name: 'x' }) })
    expect(error).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/inputResponses\.name: content\.name must have at least 2/),
    })
    expect(w.up.count('POST', '/jobs/1/answer')).toBe(0)
    expect(Object.keys((await w.get(taskId)).result.inputRequests)).toEqual(['approve', 'name'])
    await w.update(taskId, { name: yes({ name: 'xy' }) })
    expect(w.up.requests.at(-1)?.body).toEqual({ key: 'name', answer: { name: 'xy', level: 3 } })
  })

  it.each([
    ['no object', 'yes'],
    ['a wrapped result', { method: 'elicitation/create', result: yes() }],
    ['an unknown action', { action: 'approve' }],
  ])('refuses %s', async (_, response) => {
    const { w, taskId } = await asking()
    await w.get(taskId)
    expect((await w.update(taskId, { approve: response })).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('inputResponses.approve'),
    })
    expect(w.up.count('POST', '/jobs/1/answer')).toBe(0)
  })

  it('refuses a tasks/update without answers', async () => {
    const { w, taskId } = await asking()
    const { rpc } = await import('../support/rpc.js')
    expect((await rpc(w.url, 'tasks/update', { taskId })).error?.code).toBe(-32602)
  })

  it('ignores unknown keys', async () => {
    const { w, taskId } = await asking()
    await w.get(taskId)
    const strange = { nope: yes(), __proto__x: yes(), constructor: yes(), toString: yes() }
    expect((await w.update(taskId, strange)).result).toMatchObject({ resultType: 'complete' })
    expect(w.up.count('POST', '/jobs/1/answer')).toBe(0)
  })

  it('sends the upstream its reject when the person declines', async () => {
    const { w, taskId } = await asking()
    await w.get(taskId)
    await w.update(taskId, { approve: { action: 'decline' } })
    expect(w.up.requests.at(-1)?.body).toEqual({ key: 'approve', declined: true })
  })

  it('stays open when the person cancels', async () => {
    const { w, taskId } = await asking()
    await w.get(taskId)
    expect((await w.update(taskId, { approve: { action: 'cancel' } })).result).toMatchObject({ resultType: 'complete' })
    expect(w.up.count('POST', '/jobs/1/answer')).toBe(0)
    expect((await w.get(taskId)).result.status).toBe('input_required')
  })

  it('stays open where the upstream has no reject, and says so', async () => {
    const { usualJob } = await import('../support/world.js')
    const { decline: _, ...questions } = usualJob('http://x').questions ?? ({} as never)
    const w = await world({ job: { questions } as never })
    const taskId = await w.start()
    w.up.setState('1', { status: 'waiting', questions: [approve] })
    await w.get(taskId)
    const { error } = await w.update(taskId, { approve: { action: 'decline' } })
    expect(error).toMatchObject({ code: -32603, message: expect.stringMatching(/no way to decline.*stays open/) })
    expect((await w.get(taskId)).result.status).toBe('input_required')
  })

  it.each([429, 503, 401])('is open again after a transient fault (%i), and the caller is told', async (status) => {
    const { w, taskId } = await asking()
    await w.get(taskId)
    w.up.script.answer.push({ status }, { status })
    const { error } = await w.update(taskId, { approve: yes() })
    expect(error).toMatchObject({
      code: -32603,
      message: expect.stringMatching(/"approve" could not be delivered.*stays open/),
    })
    expect((await w.get(taskId)).result.status).toBe('input_required')
    w.up.script.answer.length = 0
    await w.update(taskId, { approve: yes() })
    expect((await w.get(taskId)).result.status).toBe('working')
  })

  it('counts as answered when the answer was lost on its way back but the upstream has moved on', async () => {
    const { w, taskId } = await asking()
    await w.get(taskId)
    w.up.script.answer.push(() => {
      w.up.setState('1', { status: 'running', questions: [] })
      return { cut: 'before' }
    })
    expect((await w.update(taskId, { approve: yes() })).result).toMatchObject({ resultType: 'complete' })
    expect(w.up.count('POST', '/jobs/1/answer')).toBe(1)
  })

  it('is answered once by two people at two replicas', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const store = slowStore()
    const one = await world({ up, options: { store } })
    const two = await world({ up, options: { store } })
    const taskId = await one.start()
    up.setState('1', { status: 'waiting', questions: [approve] })
    await one.get(taskId)
    await Promise.all([one, two, one, two].map((w) => w.update(taskId, { approve: yes() })))
    expect(up.count('POST', '/jobs/1/answer')).toBe(1)
  })

  it('survives a restart and a day', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const [store, clock] = [new Map(), { now: Date.now() }]
    const first = await world({ up, clock, options: { store }, policy: { maxDurationMs: null } })
    const taskId = await first.start()
    up.setState('1', { status: 'waiting', questions: [approve] })
    await first.get(taskId)
    await first.jobs.close()
    clock.now += 86_400_000
    const second = await world({ up, clock, options: { store }, policy: { maxDurationMs: null } })
    await second.update(taskId, { approve: yes() })
    expect(up.count('POST', '/jobs/1/answer')).toBe(1)
  })

  it('asks again under a new key when a crash left an answer claimed and the upstream still asks', async () => {
    const up = await faultyUpstream()
    closing(() => up.close())
    const [store, clock] = [new Map(), { now: Date.now() }]
    const first = await world({ up, clock, options: { store } })
    const taskId = await first.start()
    up.setState('1', { status: 'waiting', questions: [approve] })
    await first.get(taskId)
    up.script.answer.push({ hang: true })
    void first.update(taskId, { approve: yes() }).catch(() => undefined)
    await up.waitFor((upstream) => upstream.count('POST', '/jobs/1/answer') === 1)
    const second = await world({ up, clock, options: { store } })
    clock.now += 6_000
    expect((await second.get(taskId)).result.status).toBe('working')
    clock.now += 60_000
    expect(Object.keys((await second.get(taskId)).result.inputRequests)).toEqual(['approve-2'])
  })

  it('is working, with the place to decide, for a client that cannot ask', async () => {
    const { w, taskId } = await asking()
    const { result } = await w.get(taskId, { elicitation: false })
    expect(result.status).toBe('working')
    expect(result.inputRequests).toBeUndefined()
    expect(result.statusMessage).toContain('https://farm.example/1')
    expect((await w.get(taskId)).result.status).toBe('input_required')
  })

  it('shows the real movement of a job that blocks in between', async () => {
    const w = await world({ job: { states: { running: 'working', blocked: 'input_required', passed: 'succeeded' } } })
    const taskId = await w.start()
    const statuses: string[] = []
    for (const state of [
      { status: 'running' },
      { status: 'blocked', questions: [approve] },
      { status: 'running', questions: [] },
      { status: 'passed' },
    ]) {
      w.up.setState('1', state)
      w.clock.now += 6_000
      statuses.push((await w.get(taskId)).result.status)
    }
    expect(statuses).toEqual(['working', 'input_required', 'working', 'completed'])
  })

  it('keeps the keys of hostile upstreams harmless', async () => {
    const { w, taskId } = await asking([
      { key: '__proto__', text: 'a' },
      { key: 'constructor', text: 'b' },
      { key: 'x y/z', text: 'c' },
    ])
    const { inputRequests } = (await w.get(taskId)).result
    expect(Object.keys(inputRequests)).toEqual(['question-__proto__', 'question-constructor', 'x-y-z'])
    await w.update(taskId, { 'question-__proto__': yes() })
    expect(w.up.requests.at(-1)?.body).toMatchObject({ key: '__proto__' })
  })
})
