import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Terminal, until } from './terminal.ts'

const terminal = new Terminal()

/** A process that holds one line and then waits for another. */
function grasp(held: string, wanted: string): ReturnType<typeof spawn> {
  const program = `
    import { holdfast } from ${JSON.stringify(new URL('../../build/src/index.js', import.meta.url).href)}
    const hf = await holdfast(process.env.HOLDFAST_STORE, { label: 'holds ${held}' })
    await hf.mutex('${held}').using(async () => {
      // Waits until the other holds its line, too.
      for (;;) {
        const free = await hf.mutex('${wanted}').tryAcquire()
        if (free === null) break
        await free.release()
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      await hf.mutex('${wanted}').acquire()
    })`
  return spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: 'inherit',
    env: { ...process.env, HOLDFAST_STORE: terminal.store },
  })
}

describe('deadlocks', () => {
  it('names two processes that wait for each other', async () => {
    expect(await terminal.holdfast('deadlocks')).toMatchObject({ code: 0, out: 'nobody waits in a circle\n' })
    const children = [grasp('x', 'y'), grasp('y', 'x')]
    try {
      await until('the circle is seen', async () => (await terminal.holdfast('deadlocks')).code === 1)
      const { out } = await terminal.holdfast('deadlocks')
      expect(out).toMatch(/^a circle of 2:\n/)
      expect(out).toMatch(new RegExp(`:${children[0]?.pid} \\(holds x\\) holds x and waits for y, `))
      const json = (await terminal.holdfast('deadlocks', '--json')).out
      expect(new Set(JSON.parse(json).map(({ line }: { line: string }) => line))).toEqual(new Set(['x', 'y']))
    } finally {
      for (const child of children) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
    }
    expect((await terminal.holdfast('deadlocks')).code).toBe(0)
  })
})
