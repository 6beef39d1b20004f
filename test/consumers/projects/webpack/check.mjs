import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import webpack from 'webpack'

const require = createRequire(import.meta.url)
const folder = fileURLToPath(new URL('.', import.meta.url))
const stats = await new Promise((resolve, reject) => {
  webpack(
    {
      mode: 'production',
      target: 'node',
      entry: `${folder}app.mjs`,
      output: { path: `${folder}out`, filename: 'app.cjs', library: { type: 'commonjs2' } },
    },
    (error, result) => (error ? reject(error) : resolve(result)),
  )
})
const { errors, warnings } = stats.toJson({ errors: true, warnings: true })
for (const { message } of [...errors, ...warnings]) console.error(message)
if (errors.length + warnings.length > 0) process.exit(1)
console.log(JSON.stringify(await require('./out/app.cjs').work()))
