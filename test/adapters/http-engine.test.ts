import type { HttpJobDefinition } from 'mcp-job-tools/adapters/http'
import { describe, expect, it } from 'vitest'
import { world } from '../support/world.js'

/* What a client sees of the cases in which a description and the engine could misunderstand one another. */

const post = { method: 'POST', path: '/jobs', body: { key: '{key}' } }

describe('a create whose answer names no job', () => {
  const unclear: [string, Partial<HttpJobDefinition>][] = [
    ['a Location that is no URL', { create: { ...post, id: { header: 'location' } } }],
    ['an id that is not there', { create: { ...post, id: 'no.such' } }],
    ['an expression that fails', { create: { ...post, id: '$error("x")' } }],
    [
      'a search for it that is refused',
      { create: post, locate: { path: '/jobs', query: { key: '{key}' }, id: 'jobs[0].id' } },
    ],
  ]
  it.each(unclear)('is never told as one that made none: %s', async (_, job) => {
    const w = await world({ job })
    w.up.script.create.push({ headers: { location: 'http://[broken' } })
    w.up.script.locate.push({ status: 403 })
    const { result } = await w.call()
    expect(result.isError).toBe(true)
    expect(result.content[0].text).toMatch(/^Outcome unknown: the job may be running\./)
    expect(w.up.count('POST', '/jobs')).toBe(1)
  })
  it('is found again by the key where there is a way', async () => {
    const locate = { path: '/jobs', query: { key: '{key}' }, id: 'jobs[0].id' }
    const w = await world({ job: { create: { ...post, id: 'no.such' }, locate } })
    expect((await w.call()).result).toMatchObject({ resultType: 'task', status: 'working' })
    expect(w.up.count('POST', '/jobs')).toBe(1)
  })
})

describe('a preparation that fails', () => {
  it('is told as no job', async () => {
    const w = await world({ job: { prepare: { method: 'POST', path: '/no/such', ref: { a: 'a' } } } })
    const { result } = await w.call()
    expect(result.content[0].text).toMatch(/^The job was not started\./)
    expect(w.up.count('POST', '/jobs')).toBe(0)
  })
})

describe('a further read that finds nothing', () => {
  it('does not end the task, however old the job is', async () => {
    const w = await world({ job: { also: { steps: { path: '/jobs/{ref.id}/no/such' } } } })
    const taskId = await w.start()
    w.clock.now += 600_000
    const { result } = await w.get(taskId)
    expect(result).toMatchObject({ status: 'working' })
    expect(result.statusMessage).toMatch(/answered 404/)
  })
})

describe('a build whose page is not there yet', () => {
  it('is waited for, however long it was in the queue', async () => {
    const w = await world({
      job: {
        get: [
          {
            when: '$not($exists($ref.build))',
            path: '/jobs/{ref.id}',
            ref: { build: 'build' },
            states: { '*': 'working' },
          },
          { path: '/jobs/{ref.build}' },
        ],
      },
    })
    const taskId = await w.start()
    expect((await w.get(taskId)).result.status).toBe('working')
    // It leaves the queue after an hour, and the grace of two minutes begins then.
    w.clock.now += 3_600_000
    w.up.setState('1', { build: 2 })
    expect((await w.get(taskId)).result.status).toBe('working')
    w.clock.now += 100_000
    expect((await w.get(taskId)).result.status).toBe('working')
    // The queue has forgotten it by now.
    w.up.forget('1')
    w.up.scriptFor('2').get.push({ body: { status: 'done', output: 'built' } })
    expect((await w.until(taskId, 'completed')).result.result.content).toEqual([{ type: 'text', text: 'built' }])
  })
})

describe('a cancelled job that its upstream calls failed', () => {
  it('is cancelled', async () => {
    const w = await world({
      job: { status: 'status = "error" and $cancelRequested ? "cancelled" : status' },
    })
    const taskId = await w.start()
    w.up.script.cancel.push({ body: {} })
    await w.cancel(taskId)
    await w.up.waitFor((up) => up.count('POST', '/jobs/1/cancel') === 1)
    w.up.setState('1', { status: 'error' })
    expect((await w.until(taskId, 'cancelled')).result.status).toBe('cancelled')
  })
})
