import { spawnSync } from 'node:child_process'

const built = spawnSync('node_modules/.bin/nest', ['build'], { encoding: 'utf8' })
const said = `${built.stdout}${built.stderr}`
if (built.status !== 0 || /warning/i.test(said)) {
  console.error(said)
  process.exit(1)
}
const run = spawnSync('node', ['dist/main.js'], { encoding: 'utf8' })
console.log(run.stdout.trim())
if (run.stdout.trim() !== '7') {
  console.error(run.stderr)
  process.exit(1)
}
