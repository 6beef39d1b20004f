/** Keeps compiled code for the next start. Node can do so from 22.8 on; Node 20 can't. */
import * as module from 'node:module'

/** In the folder that NODE_COMPILE_CACHE names, else below the system's folder for temporary files. */
export function keepCompiled(): void {
  const { enableCompileCache } = module as { enableCompileCache?: () => unknown }
  enableCompileCache?.()
}
