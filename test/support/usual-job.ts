import type { HttpJobDefinition } from 'mcp-job-tools/adapters/http'

/** The usual job description over a faulty upstream. */
export function usualJob(baseUrl: string, over: Partial<HttpJobDefinition> = {}): HttpJobDefinition {
  return {
    baseUrl,
    create: { method: 'POST', path: '/jobs', body: { scene: '{input.scene}', key: '{key}' }, id: 'id' },
    get: { path: '/jobs/{ref.id}' },
    cancel: { method: 'POST', path: '/jobs/{ref.id}/cancel' },
    status: 'status',
    states: {
      queued: 'working',
      running: 'working',
      waiting: 'input_required',
      done: 'succeeded',
      error: 'failed',
      cancelled: 'cancelled',
    },
    message: 'message',
    progress: 'percent',
    url: 'web',
    error: 'reason',
    result: 'output',
    questions: {
      list: 'questions',
      key: 'key',
      message: 'text',
      form: 'form',
      accept: { method: 'POST', path: '/jobs/{ref.id}/answer', body: { key: '{question.key}', answer: '{answer}' } },
      decline: { method: 'POST', path: '/jobs/{ref.id}/answer', body: { key: '{question.key}', declined: true } },
    },
    ...over,
  }
}
