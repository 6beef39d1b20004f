/** `holdfast-nest`: Holdfast in NestJS: a module, an injectable instance, `@Locked`, `@Once`, and a clean shutdown. */
export { Locked, Once, type OnceSettings } from './decorators.ts'
export { HoldfastModule, type HoldfastAsyncOptions, type HoldfastModuleOptions } from './module.ts'
export { HOLDFAST } from './wiring.ts'
