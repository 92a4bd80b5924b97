import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder, type RealServer, startServer } from './program.js'

/** An rclone daemon with the remotes `source:`, `target:` and `missing:` (a folder that is not there). */
export interface RcloneServer extends RealServer {
  readonly source: string
  readonly target: string
  /** The value of the `authorization` header. */
  readonly authorization: string
  /** Sends a call of the remote control, past the library. */
  rc(call: string, body?: object): Promise<unknown>
}

const USER = 'tester'
const PASSWORD = 'not-a-secret'

/** Starts `rclone rcd` on 127.0.0.1, on a free port unless one is given. */
export async function startRclone(port = 0): Promise<RcloneServer> {
  const folder = newFolder('rclone')
  const [source, target] = [join(folder, 'source'), join(folder, 'target')]
  mkdirSync(source)
  mkdirSync(target)
  const remotes = { source, target, missing: join(folder, 'not-there') }
  const config = Object.entries(remotes).map(([name, path]) => `[${name}]\ntype = alias\nremote = ${path}\n`)
  writeFileSync(join(folder, 'rclone.conf'), config.join('\n'))
  const args = ['rcd', '--config', join(folder, 'rclone.conf'), '--cache-dir', join(folder, 'cache')]
  const server = await startServer({
    command: 'rclone',
    args: [...args, '--rc-addr', `127.0.0.1:${port}`, '--rc-user', USER, '--rc-pass', PASSWORD],
    folder,
    ready: (printed) => /Serving remote control on (http:\S+?)\/?\s/.exec(printed)?.[1],
  })
  const authorization = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`
  const rc = async (call: string, body: object = {}) => {
    const response = await fetch(`${server.url}/${call}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return response.json()
  }
  return { ...server, source, target, authorization, rc }
}
