/**
 * A Prisma client without `prisma generate`, which wants to download an engine: the same runtime, query compiler and
 * driver adapter that generated code starts, for a schema without models.
 */
import { getPrismaClient } from '@prisma/client/runtime/client'

const COMPILER = '@prisma/client/runtime/query_compiler_small_bg.postgresql'
const PrismaClient = getPrismaClient({
  previewFeatures: [],
  clientVersion: '7.10.0',
  engineVersion: 'none',
  activeProvider: 'postgresql',
  inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: 'AAAA' },
  compilerWasm: {
    getRuntime: () => import(`${COMPILER}.mjs`),
    async getQueryCompilerWasmModule() {
      const { wasm } = await import(`${COMPILER}.wasm-base64.mjs`)
      return new WebAssembly.Module(Buffer.from(wasm, 'base64'))
    },
    importName: './query_compiler_small_bg.js',
  },
})

/**
 * @typedef {{ $queryRawUnsafe(text: string, ...values: never[]): Promise<unknown>, $executeRawUnsafe(text: string):
 * Promise<number> }} Tx
 * @typedef {Tx & { $transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>, $disconnect(): Promise<void> }} Client
 *
 * @param {unknown} adapter
 * @returns {Client}
 */
export function prismaClient(adapter) {
  return new PrismaClient({ adapter })
}
