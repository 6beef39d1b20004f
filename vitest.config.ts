import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// Two projects: `unit` needs no server and no build, `real` (*.real.test.ts) uses real processes and real servers.
// Files of both spend much of their time waiting, so more of them run at a time than there are cores. Unit files of one
// worker share what they import: to load the library anew for each of them took 40 % of the processor time. A unit test
// therefore leaves nothing behind, and mocks no module. Slow machines may need 20 s for a poll.
const expect = { poll: { timeout: 20_000 } }
const folders = ['packages/*/test', 'test']

/**
 * Tests run the sources, so the laboratory's imports of `holdfast` must find the same ones: as tsconfig.json has it.
 */
const { compilerOptions } = JSON.parse(readFileSync(new URL('tsconfig.json', import.meta.url), 'utf8')) as {
  readonly compilerOptions: { readonly paths: Record<string, [string]> }
}
const alias = Object.entries(compilerOptions.paths).map(([name, [file]]) => ({
  find: new RegExp(`^${name}$`),
  replacement: fileURLToPath(new URL(file, import.meta.url)),
}))

export default defineConfig({
  test: {
    // Of the cases of a conformance suite; all other tests take turns.
    maxConcurrency: 4,
    projects: [
      {
        resolve: { alias },
        test: {
          name: 'unit',
          include: folders.map((folder) => `${folder}/**/*.test.ts`),
          exclude: ['**/*.real.test.ts', '**/node_modules/**'],
          testTimeout: 120_000,
          isolate: false,
          maxWorkers: 3,
          expect,
        },
      },
      {
        resolve: { alias },
        test: {
          name: 'real',
          include: folders.map((folder) => `${folder}/**/*.real.test.ts`),
          globalSetup: 'test/prepare.ts',
          testTimeout: 180_000,
          hookTimeout: 120_000,
          maxWorkers: 3,
          expect,
        },
      },
    ],
  },
})
