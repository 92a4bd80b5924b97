import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { freePort, newFolder, type RealServer, startServer } from './program.js'

/** A peer that takes images no faster than a test allows: so jobs take exactly as long as the test wants. */
export interface Peer {
  readonly url: string
  /** Lets so many more images through. */
  allow(images: number): void
  /** From now on nothing is let through. */
  hold(): void
  close(): Promise<void>
}

/** An Orthanc with the peers `archive` (see {@link Peer}) and `nowhere` (nobody listens), and no jobs kept over a restart. */
export interface OrthancServer extends RealServer {
  readonly port: number
  readonly authorization: string
  /** Sends a request past the library. @returns the parsed answer. */
  api(method: string, path: string, body?: object): Promise<unknown>
  /** Stores so many new images. @returns their ids. */
  addImages(count: number): Promise<string[]>
}

const USER = 'tester'
const PASSWORD = 'not-a-secret'
const IMAGE = { PatientID: 'p1', PatientName: 'TEST', Modality: 'OT', SOPClassUID: '1.2.840.10008.5.1.4.1.1.7' }

/** Orthanc 1.10 listens on all addresses and cannot be told otherwise: this makes it listen on 127.0.0.1 only. */
const LOOPBACK_SHIM = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
int bind(int fd, const struct sockaddr *address, socklen_t length) {
  static int (*real)(int, const struct sockaddr *, socklen_t);
  if (!real) real = (int (*)(int, const struct sockaddr *, socklen_t)) dlsym(RTLD_NEXT, "bind");
  if (!address || address->sa_family != AF_INET || length < sizeof(struct sockaddr_in)) return real(fd, address, length);
  struct sockaddr_in local = *(const struct sockaddr_in *) address;
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return real(fd, (struct sockaddr *) &local, sizeof local);
}
`

/** Starts the peer. */
export async function startPeer(): Promise<Peer> {
  const waiting: (() => void)[] = []
  let allowed = 0
  const pass = () => {
    for (; allowed > 0 && waiting.length > 0; allowed--) waiting.shift()?.()
  }
  const server = createServer((request, response) => {
    request.resume()
    request.once('end', () => {
      waiting.push(() => response.end('{ "ID": "x", "Path": "/instances/x", "Status": "Success" }'))
      pass()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    allow: (images) => {
      allowed += images
      pass()
    },
    hold: () => {
      allowed = 0
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Starts Orthanc on 127.0.0.1, on a free port unless one is given. */
export async function startOrthanc(peer: Peer, port?: number): Promise<OrthancServer> {
  const folder = newFolder('orthanc')
  const database = join(folder, 'database')
  mkdirSync(database)
  const httpPort = port ?? (await freePort())
  const settings = {
    Name: 'test',
    StorageDirectory: database,
    IndexDirectory: database,
    HttpPort: httpPort,
    RemoteAccessAllowed: false,
    AuthenticationEnabled: true,
    RegisteredUsers: { [USER]: PASSWORD },
    DicomServerEnabled: false,
    ConcurrentJobs: 1,
    SaveJobs: false,
    HttpTimeout: 60,
    OrthancPeers: { archive: [peer.url], nowhere: ['http://127.0.0.1:9/'] },
    Plugins: [],
  }
  writeFileSync(join(folder, 'orthanc.json'), JSON.stringify(settings))
  writeFileSync(join(folder, 'loopback.c'), LOOPBACK_SHIM)
  const shim = join(folder, 'loopback.so')
  execFileSync('cc', ['-shared', '-fPIC', '-o', shim, join(folder, 'loopback.c'), '-ldl'])
  const url = `http://127.0.0.1:${httpPort}`
  const authorization = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`
  const server = await startServer({
    command: 'Orthanc',
    args: [join(folder, 'orthanc.json')],
    env: { LD_PRELOAD: shim },
    folder,
    ready: (printed) => (printed.includes('Orthanc has started') ? url : undefined),
  })
  const api = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
  const addImages = async (count: number) => {
    const ids: string[] = []
    for (let image = 0; image < count; image++) {
      const made = await api('POST', '/tools/create-dicom', { Tags: IMAGE })
      ids.push((made as { ID: string }).ID)
    }
    return ids
  }
  return { ...server, port: httpPort, authorization, api, addImages }
}
