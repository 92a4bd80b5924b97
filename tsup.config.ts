import { defineConfig } from 'tsup'

// One entry for each subpath that package.json exports; shared code lands in chunks, so `instanceof` and symbols stay one.
export default defineConfig({
  entry: {
    index: 'src/index.ts',
    testing: 'src/testing/index.ts',
    'adapters/http': 'adapters/http.ts',
    'stores/lmdb': 'src/store/lmdb.ts',
  },
  format: 'esm',
  target: 'node20',
  platform: 'node',
  dts: true,
  splitting: true,
  sourcemap: true,
  clean: true,
})
