import { DefinitionError, defineJobTool, type JobAdapter } from 'mcp-job-tools'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { CHECK, DEFAULT_POLICY, resolvePolicy } from '../../src/define/index.js'

const job: JobAdapter<{ scene: string }, { id: string }, { status: string }> = {
  create: async (input) => ({ id: input.scene }),
  get: async (ref) => ({ status: ref.id }),
  read: () => ({ phase: 'working' }),
}
const good = { name: 'render', input: z.object({ scene: z.string() }), job }
/** What a JavaScript author may write, unchecked by types. */
const define = (over: Record<string, unknown>) => defineJobTool({ ...good, ...over } as never)

describe('defineJobTool', () => {
  it('takes a tool with nothing but the needed members', () => {
    expect(defineJobTool(good)).toMatchObject({ name: 'render', policy: {} })
  })

  const mistakes: [string, Record<string, unknown>, RegExp][] = [
    ['a name with spaces', { name: 'render video' }, /name: "render video" is no tool name/],
    ['an empty name', { name: '' }, /is no tool name/],
    ['a name that is no text', { name: 7 }, /is no tool name/],
    ['a misspelt option', { pollInterval: 5 }, /tool "render", pollInterval: is no option/],
    ['an input that is no schema', { input: { scene: 'string' } }, /tool "render", input: is no Standard Schema/],
    ['an output that is no schema', { output: 7 }, /tool "render", output/],
    ['no adapter', { job: undefined }, /job\.create: is missing/],
    ['an adapter without get', { job: { ...job, get: undefined } }, /job\.get: is missing/],
    ['an adapter without read', { job: { ...job, read: 'x' } }, /job\.read: is missing/],
    ['a cancel that is no function', { job: { ...job, cancel: true } }, /job\.cancel: is not a function/],
    ['ask that is no function', { ask: [] }, /ask: is not a function/],
    ['a wait above 55 s', { waitMs: 55_001 }, /tool "render", waitMs: 55001 is not allowed.*60 seconds/],
    ['a negative wait', { waitMs: -1 }, /waitMs: -1/],
    ['an interval of 0', { pollIntervalMs: 0 }, /pollIntervalMs: 0/],
    ['a minimum interval of 0', { minPollIntervalMs: 0 }, /minPollIntervalMs: 0/],
    ['a negative interval', { pollIntervalMs: -5 }, /pollIntervalMs: -5/],
    ['an interval of NaN', { pollIntervalMs: Number.NaN }, /pollIntervalMs: NaN/],
    ['an interval of 2^31', { maxPollIntervalMs: 2 ** 31 }, /maxPollIntervalMs: 2147483648/],
    ['an endless interval', { pollIntervalMs: Number.POSITIVE_INFINITY }, /pollIntervalMs: Infinity/],
    ['an interval as text', { pollIntervalMs: '5s' }, /pollIntervalMs: 5s/],
    ['a fraction of a millisecond', { pollIntervalMs: 1.5 }, /pollIntervalMs: 1\.5/],
    ['a deadline of 0', { maxDurationMs: 0 }, /maxDurationMs: 0.*null for no deadline/],
    ['a retention of 0', { retentionMs: 0 }, /retentionMs: 0/],
    ['a time limit of 0', { timeouts: { get: 0 } }, /timeouts\.get: 0/],
    [
      'a time limit for nothing',
      { timeouts: { fetch: 5 } },
      /timeouts\.fetch: is no time limit.*create, get, cancel, answer, result/,
    ],
    ['an unknown way without tasks', { withoutTasks: 'block' }, /withoutTasks: "block".*"wait", "handle" or "reject"/],
    ['a result cap of 0', { maxResultBytes: 0 }, /maxResultBytes: 0/],
  ]
  it.each(mistakes)('refuses %s, naming tool, member and remedy', (_, over, message) => {
    expect(() => define(over)).toThrow(DefinitionError)
    expect(() => define(over)).toThrow(message)
  })

  it('runs the check that an adapter carries, with the facts of the tool', () => {
    const seen: unknown[] = []
    define({ job: { ...job, [CHECK]: (facts: unknown) => seen.push(facts) }, ask: () => undefined })
    expect(seen).toMatchObject([
      { tool: 'render', asks: true, inputSchema: { type: 'object', properties: { scene: { type: 'string' } } } },
    ])
  })

  it('allows no deadline', () => {
    expect(resolvePolicy('t', define({ maxDurationMs: null }).policy).maxDurationMs).toBeNull()
  })
})

describe('the policy of a tool', () => {
  it('lays its own options over the defaults of its set, and those over the library', () => {
    const policy = resolvePolicy(
      't',
      { waitMs: 1, timeouts: { get: 2 } },
      { waitMs: 3, retentionMs: 4, timeouts: { get: 5, create: 6 } },
    )
    expect(policy).toEqual({
      ...DEFAULT_POLICY,
      waitMs: 1,
      retentionMs: 4,
      timeouts: { ...DEFAULT_POLICY.timeouts, get: 2, create: 6 },
    })
  })
  it('takes undefined for "not given"', () => {
    expect(resolvePolicy('t', { waitMs: undefined, timeouts: undefined })).toEqual(DEFAULT_POLICY)
  })
  it('refuses a minimum above the maximum', () => {
    expect(() => resolvePolicy('t', { minPollIntervalMs: 10_000 }, { maxPollIntervalMs: 5_000 })).toThrow(
      /minPollIntervalMs: 10000 is above maxPollIntervalMs/,
    )
  })
})
