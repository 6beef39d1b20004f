/**
 * Embeds the scripts of the stores, compiles holdfast into build and bundles that into dist, compiles holdfast-lab and
 * holdfast-console into dist.
 */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stampBuild } from './built.js'
import { runSteps } from './run.js'

// A package has neither the images nor the translation nor the commands of the repository.
const readme = readFileSync('README.md', 'utf8')
  .replace(/English · .*\n\n/, '')
  .replace(/<picture>.*?<\/picture>\n\n/s, '')
  .replace(/From a clone.*?\n\n( {4}.*\n)+\n/, '')

for (const name of ['holdfast', 'holdfast-nest', 'holdfast-lab', 'holdfast-console']) {
  rmSync(`packages/${name}/dist`, { recursive: true, force: true })
  // The packages carry both files; the repository has each of them once.
  writeFileSync(`packages/${name}/README.md`, readme)
  copyFileSync('LICENSE', `packages/${name}/LICENSE`)
}
rmSync('packages/holdfast/build', { recursive: true, force: true })
runSteps([
  ['scripts', 'node', 'scripts/embed.js'],
  ['build', 'tsc', '-p', 'packages/holdfast/tsconfig.build.json'],
  ['bundle', 'node', 'scripts/bundle.js', ...process.argv.slice(2)],
  ['build of the Nest module', 'tsc', '-p', 'packages/holdfast-nest/tsconfig.build.json'],
  ['build of the laboratory', 'tsc', '-p', 'packages/holdfast-lab/tsconfig.build.json'],
  ['build of the rehearsal', 'node', 'scripts/rehearse.js', ...process.argv.slice(2)],
  ['build of the console', 'node', 'scripts/console.js'],
])
stampBuild()
