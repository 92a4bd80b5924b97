import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, newFolder, programPath, type RealServer, startServer } from './program.js'

const DEBIAN = '/usr/lib/postgresql'

/** Where PostgreSQL's programs are: Debian keeps them off the path, in one folder a version. */
function binaries(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort().reverse() : []
  const folder = versions.map((version) => join(DEBIAN, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')))
  return folder ?? (programPath('initdb') ? '' : undefined)
}

/** Whether PostgreSQL is here. */
export const hasPostgres = () => binaries() !== undefined

/** The server refuses to run as root: there it runs as Debian's user of that name. */
function asUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres']).toString())
  return { uid: id('-u'), gid: id('-g') }
}

/** A PostgreSQL on a free port, in a folder of its own. */
export async function startPostgres(): Promise<RealServer> {
  const bin = binaries() ?? ''
  const folder = newFolder('postgres')
  const user = asUser()
  if (user) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const drop = user ? ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : ['env']
  const [command = 'env', ...prefix] = drop
  execFileSync(command, [...prefix, join(bin, 'initdb'), '-D', data, '-U', 'tester', '-A', 'trust', '--no-sync'], {
    stdio: 'ignore',
    cwd: folder,
  })
  const port = await freePort()
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${folder}`, 'fsync=off']
  return startServer({
    command,
    args: [...prefix, join(bin, 'postgres'), '-D', data, ...settings.flatMap((setting) => ['-c', setting])],
    folder,
    ready: (printed) =>
      printed.includes('ready to accept connections') ? `postgresql://tester@127.0.0.1:${port}/postgres` : undefined,
  })
}
