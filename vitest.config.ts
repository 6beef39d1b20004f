import { defineConfig } from 'vitest/config'

// Two projects: `unit` needs no server and no build, `real` uses real processes and real servers. Two files at a time: most of
// their time is spent waiting, and on two cores more would turn a liveness bound into a lottery.
// What is polled may take its time on a slow machine.
const expect = { poll: { timeout: 20_000 } }

export default defineConfig({
  test: {
    // Of the cases of a conformance suite; all other tests take turns.
    maxConcurrency: 4,
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 30_000, maxWorkers: 2, expect } },
      {
        test: {
          name: 'real',
          include: ['test/real/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          expect,
        },
      },
    ],
  },
})
