import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/*
 * Who may import whom: data flows wire -> engine -> adapter -> http, and engine -> store. Each layer lists the ones below it.
 * `store` and `engine` use `http` for types and for cleaning text only.
 */
const LAYERS: Record<string, string[]> = {
  errors: [],
  http: ['errors'],
  define: ['errors', 'http'],
  declarative: ['errors', 'http', 'define'],
  store: ['errors', 'http', 'define'],
  engine: ['errors', 'http', 'define', 'store'],
  wire: ['errors', 'define', 'store', 'engine'],
  server: ['errors', 'http', 'define', 'store', 'engine', 'wire'],
  adapters: ['errors', 'http', 'define', 'declarative'],
}
/** The only layers that know the MCP SDK. */
const KNOW_THE_SDK = ['wire', 'server']
const MOST_LINES = 400

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

const sources = [...filesBelow('src'), ...filesBelow('adapters')].sort()

function layerOf(file: string): string {
  const [top, second] = file.split('/')
  return top === 'adapters' ? 'adapters' : (second ?? '')
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  return [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '')
}

describe('the source tree', () => {
  it.each(sources.filter((file) => LAYERS[layerOf(file)]))('%s imports only from layers below its own', (file) => {
    const layer = layerOf(file)
    for (const name of importsOf(file)) {
      if (!name.startsWith('.')) {
        if (name.startsWith('@modelcontextprotocol/')) expect(KNOW_THE_SDK, `${file} imports ${name}`).toContain(layer)
        continue
      }
      const target = layerOf(relative(root, resolve(root, dirname(file), name)))
      if (target !== layer) expect(LAYERS[layer], `${file} imports ${name}`).toContain(target)
    }
  })

  it.each(sources)('%s has at most 400 lines', (file) => {
    expect(readFileSync(join(root, file), 'utf8').split('\n').length).toBeLessThanOrEqual(MOST_LINES)
  })
})
