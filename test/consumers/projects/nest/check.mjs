import { spawnSync } from 'node:child_process'

for (const kind of [[], ['--webpack']]) {
  const built = spawnSync('node_modules/.bin/nest', ['build', ...kind], { encoding: 'utf8' })
  const said = `${built.stdout}${built.stderr}`
  if (built.status !== 0 || /warning/i.test(said)) {
    console.error(said)
    process.exit(1)
  }
  const run = spawnSync('node', ['dist/main.js'], { encoding: 'utf8' })
  console.log(kind[0] ?? 'tsc', run.stdout.trim())
  if (run.stdout.trim() !== '7') {
    console.error(run.stderr)
    process.exit(1)
  }
}
