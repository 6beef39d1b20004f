import { spawn, spawnSync } from 'node:child_process'

const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', CI: '1' }
for (const bundler of [['--webpack'], []]) {
  const name = bundler[0] ?? '--turbopack'
  const built = spawnSync('node_modules/.bin/next', ['build', ...bundler], { encoding: 'utf8', env })
  const said = `${built.stdout}${built.stderr}`
  const warned = said.split('\n').filter((line) => /warn|⚠|critical|can't resolve/i.test(line))
  const ours = warned.filter((line) => !/lockfiles|workspace root|no build cache/i.test(line))
  if (built.status !== 0 || ours.length > 0) {
    console.error(said)
    process.exit(1)
  }
  const port = String(41_000 + (process.pid % 1_000))
  const server = spawn('node_modules/.bin/next', ['start', '-p', port, '-H', '127.0.0.1'], {
    env,
    detached: true,
    stdio: 'ignore',
  })
  try {
    console.log(name, await answer(`http://127.0.0.1:${port}/lock`))
  } finally {
    process.kill(-server.pid)
  }
  await new Promise((resolve) => setTimeout(resolve, 500))
}

async function answer(url) {
  for (let turn = 0; turn < 100; turn++) {
    try {
      const response = await fetch(url)
      const text = await response.text()
      if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 500)}`)
      return text
    } catch (error) {
      if (error.cause === undefined) throw error
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
  throw new Error('no answer')
}
