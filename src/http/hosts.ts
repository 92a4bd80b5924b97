import { BlockList, isIP } from 'node:net'

const INTERNAL = new BlockList()
for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  INTERNAL.addSubnet(address, bits, 'ipv4')
}
INTERNAL.addAddress('::', 'ipv6')
INTERNAL.addAddress('::1', 'ipv6')
INTERNAL.addSubnet('fc00::', 7, 'ipv6')
INTERNAL.addSubnet('fe80::', 10, 'ipv6')

/**
 * True for a host that by its name alone lies inside somebody's network: loopback, link-local (the cloud metadata
 * address), private ranges, `localhost`. Names are not resolved.
 *
 * @param hostname as `URL.hostname` gives it
 */
export function isInternalHost(hostname: string): boolean {
  const host = hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
  if (host === 'localhost' || host.endsWith('.localhost') || host.endsWith('.internal')) return true
  const family = isIP(host)
  if (family === 0) return false
  // BlockList also matches IPv4 addresses that are mapped into IPv6 (`::ffff:7f00:1`).
  return INTERNAL.check(host, family === 6 ? 'ipv6' : 'ipv4')
}
