/** See built.js. */
export function stampBuild(): void
export function isBuilt(): boolean
