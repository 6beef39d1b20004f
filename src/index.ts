/** The public API: re-exports only. */
export * from './core/errors.ts'
