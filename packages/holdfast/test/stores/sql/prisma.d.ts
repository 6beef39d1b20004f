/** See prisma.js. */
interface Tx {
  $queryRawUnsafe(text: string, ...values: never[]): Promise<unknown>
  $executeRawUnsafe(text: string): Promise<number>
}

export function prismaClient(
  provider: 'postgresql' | 'mysql',
  adapter: unknown,
): Tx & {
  $transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  $disconnect(): Promise<void>
}
