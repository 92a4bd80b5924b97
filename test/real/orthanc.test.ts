import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { orthancSend } from '../../examples/orthanc.js'
import { type OrthancServer, type Peer, startOrthanc, startPeer } from '../servers/orthanc.js'
import { missing } from '../servers/program.js'
import { begin, follow, followTo, overStdio, realWorld } from './support.js'

/* examples/orthanc.ts against a real Orthanc, which knows nothing of us. */

const IMAGES = 4

describe.skipIf(missing('Orthanc', ['Orthanc', 'cc'], 'orthanc gcc libc6-dev'))('Orthanc', () => {
  let orthanc: OrthancServer
  let peer: Peer
  let resources: string[]
  beforeAll(async () => {
    peer = await startPeer()
    orthanc = await startOrthanc(peer)
    resources = await orthanc.addImages(IMAGES)
  })
  afterAll(async () => {
    await orthanc?.close()
    await peer?.close()
  })

  // Orthanc works on one job at a time: what another test has left behind must end first.
  beforeEach(async () => {
    peer.allow(Number.POSITIVE_INFINITY)
    for (const { ID } of await jobsIn('Paused')) await orthanc.api('POST', `/jobs/${ID}/cancel`, {})
    while ((await jobsIn('Running', 'Pending')).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
    peer.hold()
  })

  const jobsIn = async (...states: string[]) => {
    const jobs = (await orthanc.api('GET', '/jobs?expand')) as { ID: string; State: string }[]
    return jobs.filter(({ State }) => states.includes(State))
  }
  const worldOf = () => realWorld(orthancSend(orthanc.url, orthanc.authorization))
  const running = ({ statusMessage }: { statusMessage: string }) => statusMessage.startsWith('Running')
  const pauseLast = async () => {
    const [job] = await jobsIn('Running')
    await orthanc.api('POST', `/jobs/${job?.ID}/pause`, {})
    // Orthanc pauses between two images.
    peer.allow(1)
  }

  it('sends images: create, poll, progress, result', async () => {
    const w = await worldOf()
    const taskId = await begin(w, 'send_images', { peer: 'archive', resources })
    await follow(w, taskId, running)
    peer.allow(2)
    await follow(w, taskId, ({ statusMessage }) => statusMessage.includes('(50%)'))
    peer.allow(2)
    const { result } = await followTo(w, taskId, 'completed')
    expect(result.result).toMatchObject({ structuredContent: { images: IMAGES, failed: 0 } })
    expect(result.result.isError).toBeFalsy()
  })

  it('cancels a running transfer and one that waits, which Orthanc then calls failures', async () => {
    const w = await worldOf()
    const first = await begin(w, 'send_images', { peer: 'archive', resources })
    await follow(w, first, running)
    const second = await begin(w, 'send_images', { peer: 'archive', resources })
    await follow(w, second, ({ statusMessage }) => statusMessage.startsWith('waiting for other jobs'))
    await w.cancel(second)
    await followTo(w, second, 'cancelled')
    await w.cancel(first)
    // Orthanc stops between two images.
    await follow(w, first, ({ statusMessage }) => statusMessage.includes('waiting for the job to stop'))
    peer.allow(1)
    await followTo(w, first, 'cancelled')
  })

  it('tells why a transfer failed', async () => {
    const w = await worldOf()
    const taskId = await begin(w, 'send_images', { peer: 'nowhere', resources })
    const { result } = await followTo(w, taskId, 'completed')
    expect(result.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Error in the network protocol') }],
    })
  })

  it('asks a person about a paused transfer, and goes on when told so', async () => {
    const w = await worldOf()
    const taskId = await begin(w, 'send_images', { peer: 'archive', resources })
    await follow(w, taskId, running)
    await pauseLast()
    const { result } = await followTo(w, taskId, 'input_required')
    const [[key, request]] = Object.entries(result.inputRequests) as [[string, { params: { message: string } }]]
    expect(request.params.message).toBe('Somebody has paused this transfer at 25%. Go on with it?')
    await w.update(taskId, { [key]: { action: 'accept', content: {} } })
    peer.allow(IMAGES - 1)
    const { result: ended } = await followTo(w, taskId, 'completed')
    expect(ended.result).toMatchObject({ structuredContent: { images: IMAGES } })
  })

  it('cancels a paused transfer when the person declines', async () => {
    const w = await worldOf()
    const taskId = await begin(w, 'send_images', { peer: 'archive', resources })
    await follow(w, taskId, running)
    await pauseLast()
    const { result } = await followTo(w, taskId, 'input_required')
    const [key] = Object.keys(result.inputRequests)
    await w.update(taskId, { [String(key)]: { action: 'decline' } })
    await followTo(w, taskId, 'cancelled')
  })

  it("refuses an unknown peer with Orthanc's own words, without a task", async () => {
    const w = await worldOf()
    const { result } = await w.call({ peer: 'who', resources }, {}, 'send_images')
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('404: Unknown resource') }],
    })
  })

  it('keeps a peer name inside its path segment', async () => {
    const w = await worldOf()
    const { result } = await w.call({ peer: '../jobs', resources }, {}, 'send_images')
    expect(result).toMatchObject({ isError: true })
    const { result: odd } = await w.call({ peer: '..', resources }, {}, 'send_images')
    expect(odd).toMatchObject({ isError: true })
  })

  it('runs as written, for a desktop host', async () => {
    const env = { ORTHANC_URL: orthanc.url, ORTHANC_AUTHORIZATION: orthanc.authorization }
    const { tasks } = await overStdio('orthanc.ts', env)
    peer.allow(IMAGES)
    const execution = await tasks.callTool(
      'send_images',
      { peer: 'archive', resources },
      { task: { preference: 'prefer' } },
    )
    expect((await execution.settle()).outcome).toMatchObject({ result: { structuredContent: { images: IMAGES } } })
  })

  it('tells that a job is unknown', async () => {
    const w = await worldOf()
    const taskId = await begin(w, 'send_images', { peer: 'archive', resources })
    await follow(w, taskId, running)
    peer.allow(IMAGES)
    // This Orthanc keeps no jobs over a restart.
    await orthanc.close()
    orthanc = await startOrthanc(peer, orthanc.port)
    const { result } = await followTo(w, taskId, 'failed')
    expect(result.error.message).toContain('no longer exists')
  })
})
