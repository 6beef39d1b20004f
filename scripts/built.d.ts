/** See built.js. */
export function stampBuild(): void
export function isBuilt(): boolean
export const FOLDERS: readonly string[]
