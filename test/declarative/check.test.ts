import { DefinitionError, defineJobTool } from 'mcp-job-tools'
import { type HttpJobDefinition, httpJob } from 'mcp-job-tools/adapters/http'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { usualJob } from '../support/usual-job.js'

const base = usualJob('https://farm.example/api')
const { id: _, ...createWithoutId } = base.create as { id: string; path: string }
const refused = (over: Record<string, unknown>) => {
  let error: unknown
  try {
    httpJob({ ...base, ...over } as HttpJobDefinition)
  } catch (caught) {
    error = caught
  }
  expect(error).toBeInstanceOf(DefinitionError)
  return (error as Error).message
}

describe('a job description', () => {
  it('that is right is taken', () => {
    expect(httpJob(base)).toMatchObject({
      create: expect.any(Function),
      cancel: expect.any(Function),
      answer: expect.any(Function),
    })
  })

  const mistakes: [string, Record<string, unknown>, RegExp][] = [
    ['no id and no locate', { create: createWithoutId }, /job\.create: returns no id, and there is no `locate` step/],
    ['a locate without an id', { create: createWithoutId, locate: { path: '/jobs' } }, /job\.locate: finds no id/],
    [
      'one create of a list without an id',
      { create: [{ ...createWithoutId, when: 'a' }, base.create] },
      /job\.create: returns no id/,
    ],
    [
      'a state that maps to nothing',
      { states: { done: undefined } },
      /job\.states\.done: "undefined" is no phase.*working, input_required, succeeded, failed, cancelled/,
    ],
    ['a state that maps to a status', { states: { done: 'completed' } }, /"completed" is no phase/],
    ['no states', { states: {} }, /job\.states: is empty/],
    ['no status', { status: undefined }, /job\.status: is missing/],
    ['no get', { get: undefined }, /job\.get: is missing/],
    ['an empty get', { get: [] }, /job\.get: is an empty list/],
    ['a misspelt member', { statuss: 'x' }, /job\.statuss: is no member of a job description/],
    ['a misspelt member of a request', { get: { path: '/x', querry: {} } }, /job\.get\.querry: is no member/],
    ['a base URL that is none', { baseUrl: 'farm.example' }, /baseUrl: it is no absolute URL/],
    ['a base URL of another scheme', { baseUrl: 'ftp://farm.example' }, /scheme is "ftp"/],
    ['a base URL with credentials', { baseUrl: 'https://a:b@farm.example' }, /user name or password/],
    [
      'input in the base URL',
      { baseUrl: 'https://{input.host}/api' },
      /job\.baseUrl: holds \{input\.host\}, but only \{env\.NAME\}/,
    ],
    [
      'input in the base URL of a request',
      { get: { path: '/jobs/{ref.id}', baseUrl: 'https://{input.host}' } },
      /job\.get\.baseUrl: holds \{input\.host\}/,
    ],
    ['the environment in a path', { get: { path: '/jobs/{env.SECRET}' } }, /job\.get\.path: holds \{env\.\*\}/],
    ['an unknown root', { get: { path: '/jobs/{inputs.id}' } }, /root "inputs" is unknown.*Roots are input, ref/],
    [
      'a root that is not there at this place',
      { get: { path: '/jobs/{answer.x}' } },
      /there is no "answer" at this place/,
    ],
    [
      'a ref member that nobody gives',
      { get: { path: '/jobs/{ref.runId}' } },
      /holds \{ref\.runId\}, which no request gives.*id/,
    ],
    ['a GET with a body', { get: { path: '/jobs/{ref.id}', body: {} } }, /job\.get\.body: goes with a GET/],
    [
      'two bodies',
      { create: { ...createWithoutId, id: 'id', method: 'POST', body: {}, form: {} } },
      /a request has one body/i,
    ],
    ['a method in small letters', { get: { path: '/x', method: 'post' } }, /"post" is no HTTP method.*capitals/],
    ['a path that is missing', { get: {} }, /job\.get\.path: is missing/],
    ['a header that is no name', { headers: { 'a b': 'x' } }, /job\.headers\.a b: is no header name/],
    ['a header that is a number', { headers: { a: 1 } }, /job\.headers\.a: is neither text nor a function/],
    ['a time limit of 0', { timeouts: { get: 0 } }, /job\.timeouts\.get: 0 is not allowed/],
    ['a time limit for nothing', { timeouts: { fetch: 1 } }, /job\.timeouts\.fetch/],
    [
      'statuses that are none',
      { get: { path: '/x', accept: ['409'] } },
      /job\.get\.accept: is no list of HTTP statuses/,
    ],
    ['an expression that is no JSONata', { message: 'a & (' }, /job\.message: .*at character/],
    ['a status that is no JSONata', { status: ['a', ')('] }, /job\.status: /],
    [
      'a pattern without a group',
      { create: { ...createWithoutId, id: { header: 'location', match: '/jobs/.*' } } },
      /job\.create\.id\.match: has no group/,
    ],
    [
      'a pattern that is none',
      { create: { ...createWithoutId, id: { header: 'location', match: '(' } } },
      /job\.create\.id\.match: is no regular expression/,
    ],
    [
      'a look-around',
      { create: { ...createWithoutId, id: { header: 'location', match: '(?=x)(y)' } } },
      /job\.create\.id\.match/,
    ],
    ['a bad pattern in gone', { gone: { status: 500, body: '(' } }, /job\.gone: /],
    [
      'an id that is neither expression nor header',
      { create: { ...createWithoutId, id: 7 } },
      /job\.create\.id: is neither an expression nor/,
    ],
    [
      'questions without accept',
      { questions: { list: 'q', key: 'k', message: 'm' } },
      /job\.questions\.accept: is missing/,
    ],
    ['a further read with a name of ours', { also: { status: { path: '/x' } } }, /job\.also\.status: is no free name/],
    ['a further read with a bad name', { also: { 'a-b': { path: '/x' } } }, /job\.also\.a-b/],
  ]
  it.each(mistakes)('with %s is refused', (_, over, message) => {
    expect(refused(over)).toMatch(message)
  })
})

describe('a job description in its tool', () => {
  const tool =
    (input: z.ZodType, path: string, ask = false) =>
    () =>
      defineJobTool({
        name: 'render',
        input: input as never,
        job: httpJob({ ...base, create: { method: 'POST', path, id: 'id' }, questions: undefined } as never),
        ...(ask ? { ask: () => undefined } : {}),
      })

  const absent: [string, z.ZodType, string][] = [
    ['no such member', z.object({ scene: z.string() }), '/jobs/{input.scen}'],
    ['no such nested member', z.object({ a: z.object({ b: z.string() }) }), '/jobs/{input.a.c}'],
    ['a strict object', z.strictObject({ scene: z.string() }), '/jobs/{input.other}'],
    ['an empty object', z.object({}), '/jobs/{input.any}'],
  ]
  it.each(absent)('is refused for a placeholder that no input has: %s', (_, input, path) => {
    expect(tool(input, path)).toThrow(
      /tool "render", job\.create: holds \{input\.[\w.]+\}, which the input does not have/,
    )
  })

  const present: [string, z.ZodType, string][] = [
    ['a member', z.object({ scene: z.string() }), '/jobs/{input.scene}'],
    ['an optional member', z.object({ scene: z.string().optional() }), '/jobs/{input.scene}'],
    ['a nested member', z.object({ a: z.object({ b: z.string() }) }), '/jobs/{input.a.b}'],
    ['a record', z.object({ a: z.record(z.string(), z.string()) }), '/jobs/{input.a.any}'],
    ['a loose object', z.looseObject({ a: z.string() }), '/jobs/{input.any}'],
    ['a union', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), '/jobs/{input.b}'],
    ['anything', z.object({ a: z.any() }), '/jobs/{input.a.b.c}'],
    [
      'a member of another schema library',
      { '~standard': { version: 1, vendor: 'x', validate: (value: unknown) => ({ value }) } } as never,
      '/jobs/{input.any}',
    ],
  ]
  it.each(present)('is taken for %s', (_, input, path) => {
    expect(tool(input, path)).not.toThrow()
  })

  it('is refused for an answer that the tool never asks for', () => {
    expect(tool(z.object({}), '/jobs/{ask.budget.euros}')).toThrow(
      /holds \{ask\.budget\.euros\}, and the tool asks nothing/,
    )
    expect(tool(z.object({}), '/jobs/{ask.budget.euros}', true)).not.toThrow()
  })
})
