import { beforeAll } from 'vitest'
import { mysql } from '../../../src/stores/mysql/index.ts'
import { economyCases } from '../sql/economy.ts'
import { type Plain, useMariadb } from './server.ts'

const bench = useMariadb()
let admin: Plain
let asked = 0
beforeAll(async () => {
  admin = await bench.connect()
})

economyCases({
  url: () => bench.url,
  driver: () => mysql(bench.url),
  async statements() {
    const [[, count] = []] = await admin.ask("SHOW GLOBAL STATUS LIKE 'Questions'")
    // Without these questions themselves.
    return Number(count) - ++asked
  },
})
