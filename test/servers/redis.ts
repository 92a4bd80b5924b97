import { freePort, newFolder, type RealServer, startServer } from './program.js'

/** A Redis on a free port, with nothing on disk. `port` starts it where an earlier one was. */
export async function startRedis(port?: number): Promise<RealServer & { port: number }> {
  const chosen = port ?? (await freePort())
  const server = await startServer({
    command: 'redis-server',
    args: ['--bind', '127.0.0.1', '--port', String(chosen), '--save', '', '--appendonly', 'no'],
    folder: newFolder('redis'),
    ready: (printed) => (printed.includes('Ready to accept connections') ? `redis://127.0.0.1:${chosen}` : undefined),
  })
  return { ...server, port: chosen }
}
