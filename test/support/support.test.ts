import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { rpc, rpc2025 } from './rpc.js'
import { type Served, serve } from './serve.js'

/* What the other tests are built on, against a plain server of the SDK: so that a red test means the library. */

let served: Served
beforeAll(async () => {
  const factory = () => {
    const server = new McpServer({ name: 'plain', version: '1.0.0' })
    server.registerTool('whoami', { inputSchema: z.object({}) }, (_input, ctx) => {
      const { authInfo } = ctx.http ?? {}
      return { content: [{ type: 'text', text: String(authInfo?.extra?.sub) }] }
    })
    server.registerTool('count', { inputSchema: z.object({}) }, async (_input, ctx) => {
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } })
      return { content: [{ type: 'text', text: 'counted' }] }
    })
    return server
  }
  served = await serve(createMcpHandler(factory))
})
afterAll(() => served.close())

describe('raw requests', () => {
  it('of 2026-07-28 pass the checks of headers and envelope', async () => {
    const { status, result } = await rpc(served.url, 'tools/call', { name: 'whoami', arguments: {} })
    expect(status).toBe(200)
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'undefined' }] })
  })

  it('of 2025-11-25 are answered as such', async () => {
    const { status, result } = await rpc2025(served.url, 'tools/call', { name: 'whoami', arguments: {} })
    expect([status, result.resultType]).toEqual([200, undefined])
    expect(result.content).toEqual([{ type: 'text', text: 'undefined' }])
  })

  it('carry a validated user', async () => {
    const { result } = await rpc(served.url, 'tools/call', { name: 'whoami', arguments: {} }, { user: 'ann' })
    expect(result.content[0].text).toBe('ann')
  })

  it('give the error with its status, whole', async () => {
    const { status, error } = await rpc(served.url, 'no/such', {})
    expect([status, error?.code]).toEqual([404, -32601])
  })

  it('read an answer that is a stream, with what came before it', async () => {
    const call = { name: 'count', arguments: {}, _meta: { progressToken: 'p' } }
    const { result, notifications } = await rpc(served.url, 'tools/call', call)
    expect(result.content[0].text).toBe('counted')
    expect(notifications.map(({ method }) => method)).toEqual(['notifications/progress'])
  })
})
