import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^mcp-job-tools$/, replacement: here('./src/index.ts') },
      { find: /^mcp-job-tools\/testing$/, replacement: here('./src/testing/index.ts') },
      { find: /^mcp-job-tools\/adapters\/(.*)$/, replacement: here('./adapters/$1.ts') },
      { find: /^mcp-job-tools\/stores\/(.*)$/, replacement: here('./src/store/$1.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // Two cores: more workers only make timing-sensitive servers slower.
    maxWorkers: 2,
    typecheck: { enabled: false },
  },
})
