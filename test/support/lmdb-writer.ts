/* A process for lmdb.test.ts: `claim PATH` races for 200 keys, `write PATH` writes until it is killed. */
import { lmdbStore } from '../../src/store/lmdb.js'
import { BACKEND } from '../../src/store/types.js'

const [mode, path = ''] = process.argv.slice(2)
const backend = await lmdbStore({ path })[BACKEND]()
if (mode === 'claim') {
  for (let n = 0; n < 200; n++) {
    if (await backend.main.add(`claim-${n}`, String(process.pid), null)) console.log(`won claim-${n}`)
  }
  await backend.close()
} else {
  for (let n = 0; ; n++) {
    await backend.main.set(`key-${n}`, 'x'.repeat(200), null)
    console.log(`wrote key-${n}`)
  }
}
