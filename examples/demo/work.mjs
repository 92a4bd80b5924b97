/*
 * The job itself: an ordinary script that knows nothing of MCP. It surveys the source files of a folder in two stages, and asks
 * for approval in between. It tells what it does on standard output, one JSON object a line, and reads the decision from
 * standard input.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const [folder = '.', stageMs = '2500'] = process.argv.slice(2)
const tell = (message) => console.log(JSON.stringify(message))
// A small folder would be surveyed before anybody could watch.
const pause = () => new Promise((resolve) => setTimeout(resolve, Number(stageMs) / files.length))

process.on('uncaughtException', (error) => {
  console.error(error.message)
  process.exit(1)
})
process.on('SIGTERM', () => {
  tell({ log: 'asked to stop, stopping' })
  process.exit(143)
})

const entries = await readdir(folder, { recursive: true, withFileTypes: true })
const files = entries
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
  .sort()
tell({ stage: 'counting lines', percent: 0, log: `${files.length} source files in ${folder}` })

let lines = 0
for (const [at, file] of files.entries()) {
  const text = await readFile(file, 'utf8')
  lines += text.split('\n').length
  tell({ percent: Math.round(((at + 1) / files.length) * 50), log: `${file}: ${text.length} bytes` })
  await pause()
}

tell({ question: `Counted ${lines} lines in ${files.length} files. Go on with the checksums?` })
const [decision] = await new Promise((resolve) => {
  const decisions = createInterface({ input: process.stdin })
  decisions.once('line', (line) => resolve([line.trim()]))
  // Whoever started this is gone: nobody will decide any more.
  decisions.once('close', () => resolve(['']))
})
if (decision !== 'approve') {
  tell({ log: 'rejected by a person' })
  process.exit(2)
}

tell({ stage: 'checksums', percent: 50, log: 'approved by a person' })
const hash = createHash('sha256')
for (const [at, file] of files.entries()) {
  hash.update(await readFile(file))
  tell({ percent: 50 + Math.round(((at + 1) / files.length) * 50) })
  await pause()
}
tell({ report: { files: files.length, lines, sha256: hash.digest('hex') }, log: 'done' })
process.exit(0)
