/**
 * A Prisma client without `prisma generate`: the same runtime, query compiler and
 * driver adapter that generated code starts, for a schema without models.
 */
import { getPrismaClient } from '@prisma/client/runtime/client'

/** @param {'postgresql' | 'mysql'} provider */
function clientFor(provider) {
  const compiler = `@prisma/client/runtime/query_compiler_small_bg.${provider}`
  return getPrismaClient({
    previewFeatures: [],
    clientVersion: '7.10.0',
    engineVersion: 'none',
    activeProvider: provider,
    inlineSchema: `datasource db {\n  provider = "${provider}"\n}\n`,
    runtimeDataModel: { models: {}, enums: {}, types: {} },
    parameterizationSchema: { strings: [], graph: 'AAAA' },
    compilerWasm: {
      getRuntime: () => import(`${compiler}.mjs`),
      async getQueryCompilerWasmModule() {
        const { wasm } = await import(`${compiler}.wasm-base64.mjs`)
        return new WebAssembly.Module(Buffer.from(wasm, 'base64'))
      },
      importName: './query_compiler_small_bg.js',
    },
  })
}

/**
 * @typedef {{ $queryRawUnsafe(text: string, ...values: never[]): Promise<unknown>, $executeRawUnsafe(text: string):
 * Promise<number> }} Tx
 * @typedef {Tx & { $transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>, $disconnect(): Promise<void> }} Client
 *
 * @param {'postgresql' | 'mysql'} provider
 * @param {unknown} adapter
 * @returns {Client}
 */
export function prismaClient(provider, adapter) {
  const PrismaClient = clientFor(provider)
  return new PrismaClient({ adapter })
}
