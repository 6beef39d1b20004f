import { build, createLogger } from 'vite'

const heard = []
const logger = createLogger('warn')
for (const level of ['warn', 'warnOnce', 'error']) logger[level] = (message) => heard.push(message)
for (const noExternal of [true, undefined]) {
  await build({
    customLogger: logger,
    ssr: { ...(noExternal && { noExternal }) },
    build: {
      ssr: 'app.mjs',
      outDir: noExternal ? 'bundled' : 'external',
      rollupOptions: { onwarn: (warning) => heard.push(warning.message) },
    },
  })
}
if (heard.length > 0) {
  console.error(heard.join('\n'))
  process.exit(1)
}
const { existsSync } = await import('node:fs')
for (const folder of ['bundled', 'external']) {
  const file = ['app.js', 'app.mjs']
    .map((name) => new URL(`${folder}/${name}`, import.meta.url))
    .find((url) => existsSync(url))
  const { work } = await import(file.href)
  console.log(JSON.stringify(await work()))
}
