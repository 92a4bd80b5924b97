import type { Answer } from 'mcp-job-tools'
import { describe, expect, it } from 'vitest'
import { adapter, upstream } from './http-world.js'

/* Gates of a job: how they are found, shown and answered, over real HTTP. */

describe('questions', () => {
  const questions = {
    list: 'approvals',
    key: 'env.id',
    message: '"Deploy to " & env.name & "?"',
    form: { comment: { type: 'string' as const } },
    accept: {
      method: 'POST',
      path: '/jobs/{ref.id}/approve',
      body: { env: '{question.key}', text: '{answer.comment}', q: '{question.message}' },
      ref: { attempt: 'attempt' },
    },
  }
  const waiting = {
    body: { status: 'waiting', approvals: [{ env: { id: 1, name: 'prod' } }, { env: { id: 2, name: 'stage' } }] },
  }
  const ref = { id: 1 }
  const asked = { key: '1', message: 'Deploy to prod?' }

  it('are listed, one or many, with their form', async () => {
    const up = await upstream({ 'GET /jobs/1': waiting })
    expect(await adapter({ baseUrl: up.url, questions }).look(ref)).toEqual({
      phase: 'input_required',
      message: 'waiting',
      questions: [
        { key: '1', message: 'Deploy to prod?', form: { comment: { type: 'string' } } },
        { key: '2', message: 'Deploy to stage?', form: { comment: { type: 'string' } } },
      ],
    })
  })
  it('may have a form that each item brings, and make a running job wait', async () => {
    const up = await upstream({
      'GET /jobs/1': { body: { status: 'running', input: { id: 'a', text: 't', fields: { x: { type: 'boolean' } } } } },
    })
    const own = { ...questions, list: 'input', key: 'id', message: 'text', form: 'fields' }
    expect(await adapter({ baseUrl: up.url, questions: own }).look(ref)).toMatchObject({
      phase: 'input_required',
      questions: [{ key: 'a', message: 't', form: { x: { type: 'boolean' } } }],
    })
  })
  it('are answered with what the person said, and may move to a new job', async () => {
    const up = await upstream({ 'POST /jobs/1/approve': { body: { attempt: 2 } } })
    const a = adapter({ baseUrl: up.url, questions })
    expect(await a.answer(ref, asked, { action: 'accept', content: { comment: 'ok' } })).toEqual({ id: 1, attempt: 2 })
    expect(up.seen[0]?.body).toEqual({ env: '1', text: 'ok', q: 'Deploy to prod?' })
  })
  it('are declined where the upstream can, and say so where it cannot', async () => {
    const up = await upstream({ 'POST /jobs/1/reject': { body: {} } })
    const no: Answer = { action: 'decline', content: {} }
    const declining = adapter({
      baseUrl: up.url,
      questions: { ...questions, decline: { method: 'POST', path: '/jobs/{ref.id}/reject' } },
    })
    expect(await declining.answer(ref, asked, no)).toBeUndefined()
    expect(up.paths()).toEqual(['POST /jobs/1/reject'])
    await expect(adapter({ baseUrl: up.url, questions }).answer(ref, asked, no)).rejects.toThrow(/no way to decline/)
  })
  it('without a key are a fault: a gate that cannot be read is no open road', async () => {
    const up = await upstream({ 'GET /jobs/1': { body: { status: 'waiting', approvals: [{}] } } })
    await expect(adapter({ baseUrl: up.url, questions }).look(ref)).rejects.toThrow(/has no key/)
  })
})
