import fc from 'fast-check'
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
    ['a misspelt member', { statuss: 'x' }, /job\.statuss: has no meaning here. Members here are baseUrl/],
    ['a misspelt member of a request', { get: { path: '/x', querry: {} } }, /job\.get\.querry: has no meaning here/],
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
    ['a status that is no JSONata', { status: ['a', ')('] }, /job\.status\[1\]: .*at character/],
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
    ['a bad pattern in gone', { gone: { status: 500, body: '(' } }, /job\.gone\.body: is no regular expression/],
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
    ['a further read with a name of ours', { also: { status: { path: '/x' } } }, /job\.also\.status: is taken/],
    ['a further read with a bad name', { also: { 'a-b': { path: '/x' } } }, /job\.also\.a-b/],
    ['a status without words', { status: [] }, /job\.status: is an empty list/],
    ['an empty expression', { message: ' ' }, /job\.message: is neither an expression nor a function/],
    ['a message that is a number', { message: 5 }, /job\.message: is neither an expression nor a function/],
    ['a look-around in an expression', { message: '$match(a, /(?=x)y/)' }, /job\.message: .*invalid or unsupported/],
    ['a variable that there is not', { message: '$stats.done' }, /job\.message: reads \$stats.*\$ref, \$input/],
    ['a function that there is not', { message: '$uper(a)' }, /job\.message: reads \$uper/],
    [
      'a ref member in an expression that nobody gives',
      { progress: '$ref.buidl.x' },
      /job\.progress: holds \$ref\.buidl, which no request gives/,
    ],
    [
      'an id that the create needs before it has it',
      { create: { ...createWithoutId, id: 'id', path: '/jobs/{ref.id}' } },
      /job\.create: holds \{ref\.id\}, which no request before it gives/,
    ],
    [
      'a ref member in a shared header that nobody gives',
      { headers: { 'x-run': '{ref.run}' } },
      /job\.headers: holds \{ref\.run\}/,
    ],
    [
      'two ids',
      { create: { ...createWithoutId, id: 'a', ref: { id: 'b' } } },
      /job\.create\.ref\.id: stands beside `id`/,
    ],
    [
      'a ref member of the prototype',
      { create: { ...createWithoutId, ref: { __proto__x: 'b' } } },
      /is no name for a member/,
    ],
    ['a create without a method', { create: { path: '/jobs', id: 'id' } }, /job\.create\.method: is missing.*POST/],
    ['a cancel without a method', { cancel: { path: '/x' } }, /job\.cancel\.method: is missing/],
    [
      'a create by GET',
      { create: { ...createWithoutId, id: 'id', method: 'GET' } },
      /job\.create\.method: is GET, which may be sent again/,
    ],
    [
      'a value where there is no result',
      { cancel: { method: 'POST', path: '/x', value: 'a' } },
      /job\.cancel\.value: has no meaning here/,
    ],
    [
      'states where there is no look',
      { create: { ...createWithoutId, id: 'id', states: {} } },
      /job\.create\.states: has no meaning/,
    ],
    [
      'an id in a further read',
      { also: { jobs: { path: '/x', id: 'id' } } },
      /job\.also\.jobs\.id: has no meaning here/,
    ],
    ['a further read named as a function', { also: { count: { path: '/x' } } }, /job\.also\.count: is taken/],
    ['a whole URL as a path', { get: { path: 'https://other.example/jobs' } }, /job\.get\.path: is a whole URL/],
    ['dots in a path', { get: { path: '/a/../{ref.id}' } }, /would be resolved away/],
    ['a fragment in a path', { get: { path: '/a#{ref.id}' } }, /holds a "#"/],
    [
      'a placeholder with spaces',
      { get: { path: '/jobs/{ ref.id }' } },
      /job\.get\.path: has braces that are no placeholder/,
    ],
    ['a placeholder that does not end', { get: { path: '/jobs/{ref.id' } }, /job\.get\.path: has braces/],
    [
      'a placeholder for a name',
      { create: { ...createWithoutId, id: 'id', body: { a: { '{input.x}': 1 } } } },
      /has a member named "\{input\.x\}"/,
    ],
    ['a member of the key', { get: { path: '/x', query: { k: '{key.x}' } } }, /holds \{key\.x\}.*write \{key\}/i],
    ['a header of two lines', { headers: { a: 'x\ny' } }, /job\.headers\.a: is more than one line/],
    ['the environment without a name', { headers: { a: '{env}' } }, /job\.headers\.a: holds \{env\}.*\{env\.NAME\}/],
    ['a query that is a list', { get: { path: '/x', query: ['a'] } }, /job\.get\.query: is no object/],
    ['further reads in a list', { also: [{ path: '/x' }] }, /job\.also: is no object/],
    ['a gone without a status', { gone: { body: 'x' } }, /job\.gone\.status: is no HTTP status/],
    ['a gone with a status that is none', { gone: { status: [404, 'x'] } }, /job\.gone\.status/],
    [
      'a misspelt member of an id',
      { create: { ...createWithoutId, id: { header: 'location', math: 'x' } } },
      /job\.create\.id\.math: has no meaning/,
    ],
    [
      'a word twice in two spellings',
      { caseInsensitive: true, states: { Done: 'succeeded', done: 'failed' } },
      /job\.states\.done: is the same word as "Done"/,
    ],
    ['case that is neither', { caseInsensitive: 'yes' }, /job\.caseInsensitive/],
    [
      'a time limit that no timer holds',
      { timeouts: { get: 2 ** 31 } },
      /job\.timeouts\.get: 2147483648 is not allowed/,
    ],
    [
      'a form field without a type',
      { questions: { ...base.questions, form: { a: { title: 'A' } } } },
      /job\.questions\.form\.a: has no type that a form can have/,
    ],
    [
      'an answer that the form does not ask for',
      {
        questions: {
          ...base.questions,
          form: { note: { type: 'string' } },
          accept: { method: 'POST', path: '/x', body: { text: '{answer.noet}' } },
        },
      },
      /job\.questions\.accept: holds \{answer\.noet\}, which is no field of the form.*note/,
    ],
    [
      'a member that questions do not have',
      { questions: { ...base.questions, accept: { method: 'POST', path: '/x/{question.id}' } } },
      /holds \{question\.id\}.*A question has key, number/,
    ],
  ]
  it.each(mistakes)('with %s is refused', (_, over, message) => {
    expect(refused(over)).toMatch(message)
  })
})

describe('what looks wrong and is not', () => {
  const right: [string, Record<string, unknown>][] = [
    ['a search by GET with a body', { get: { method: 'GET', path: '/search', body: { id: '{ref.id}' } } }],
    ['variables that an expression makes itself', { message: '($n := 1; $map(a, function($v, $i) { $v & $i & $n }))' }],
    ['variables of a join', { message: 'a@$x.b#$i[$x.id = id].($i)' }],
    ['the context and the whole answer', { message: '$ & $$.x' }],
    ['a member of a ref that an answer gives', { url: '$ref.id' }],
    ['a preparation that is no list', { prepare: { method: 'POST', path: '/u', ref: { upload: 'id' } } }],
    ['braces in a body', { create: { ...createWithoutId, id: 'id', body: '{ job(id: 1) { id } }' } }],
    ['answers of a form that the upstream brings', { questions: base.questions }],
    ['one word twice with the same phase', { caseInsensitive: true, states: { Done: 'succeeded', done: 'succeeded' } }],
  ]
  it.each(right)('%s', (_, over) => {
    expect(() => httpJob({ ...base, ...over } as HttpJobDefinition)).not.toThrow()
  })
  it('is never a throw of another kind, whatever stands in place of any part of a definition', () => {
    const whole: Record<string, unknown> = {
      ...base,
      locate: { path: '/jobs', query: { key: '{key}' }, id: { header: 'location', match: '(.*)' } },
      also: { steps: { path: '/steps' } },
      prepare: [{ method: 'POST', path: '/u', ref: { upload: 'id' } }],
      timeouts: { get: 1 },
      gone: { status: [404], body: 'x' },
      result: [{ path: '/r', value: 'a', when: 'b' }],
    }
    fc.assert(
      fc.property(fc.constantFrom(...placesIn(whole)), fc.jsonValue(), (place, value) => {
        try {
          httpJob(replaced(whole, place, value) as unknown as HttpJobDefinition)
        } catch (error) {
          expect(error).toBeInstanceOf(DefinitionError)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

/** Every place in a value, as the names that lead to it. */
function placesIn(value: unknown, above: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [above]
  return [above, ...Object.entries(value).flatMap(([name, member]) => placesIn(member, [...above, name]))]
}

function replaced(value: unknown, [name, ...rest]: string[], by: unknown): unknown {
  if (name === undefined) return by
  if (Array.isArray(value)) return value.map((item, at) => (String(at) === name ? replaced(item, rest, by) : item))
  return { ...(value as object), [name]: replaced((value as Record<string, unknown>)[name], rest, by) }
}

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
    ['a member of a text', z.object({ a: z.string() }), '/jobs/{input.a.b}'],
    [
      'no such member of what may be null',
      z.object({ a: z.object({ b: z.string() }).nullable() }),
      '/jobs/{input.a.c}',
    ],
    [
      'no such member of any choice',
      z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
      '/jobs/{input.c}',
    ],
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
    ['a member of what may be null', z.object({ a: z.object({ b: z.string() }).nullable() }), '/jobs/{input.a.b}'],
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

  it('is refused for an expression or a header that reads what no input has', () => {
    const define = (over: Partial<HttpJobDefinition>) => () =>
      defineJobTool({ name: 'render', input: z.object({ scene: z.string() }), job: httpJob({ ...base, ...over }) })
    expect(define({ message: '$input.scen & "!"' })).toThrow(
      /job\.message: holds \$input\.scen, which the input does not have/,
    )
    expect(define({ headers: { 'x-scene': '{input.scen}' } })).toThrow(/job\.headers: holds \{input\.scen\}/)
    expect(define({ message: '$input.scene & "!"', headers: { 'x-scene': '{input.scene}' } })).not.toThrow()
  })

  it('is refused for an answer that the tool never asks for', () => {
    expect(tool(z.object({}), '/jobs/{ask.budget.euros}')).toThrow(
      /holds \{ask\.budget\.euros\}, and the tool asks nothing/,
    )
    expect(tool(z.object({}), '/jobs/{ask.budget.euros}', true)).not.toThrow()
  })
})
