/** Every adapter. A new one is a file here and a line below. */
import { asyncMutex } from './async-mutex.js'
import { local, strict } from './holdfast.js'
import { promiseChain } from './promise-chain.js'
import { properLockfile } from './proper-lockfile.js'
<<<<<<< ours
import { leastSqlite, rawSqlite } from './raw-sqlite.js'

/** @type {readonly import('../adapter.ts').Adapter[]} */
export const adapters = [local, strict, promiseChain, asyncMutex, rawSqlite, leastSqlite, properLockfile]
=======
import { rawSqlite } from './raw-sqlite.js'
import { rawZookeeper } from './raw-zookeeper.js'
import { zkRecipe } from './zk-recipe.js'

/** @type {readonly import('../adapter.ts').Adapter[]} */
export const adapters = [local, strict, promiseChain, asyncMutex, rawSqlite, properLockfile, rawZookeeper, zkRecipe]
>>>>>>> theirs
