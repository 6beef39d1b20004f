import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { acts, type Running, Terminal, until } from './terminal.ts'

const terminal = new Terminal()

/** 'T' when stopped. */
function stateOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.charAt(stat.lastIndexOf(')') + 2)
}

async function started(args: readonly string[], file: string, script: string): Promise<{ run: Running; pid: number }> {
  const run = terminal.script(args, `echo $$ > ${file}; ${script}`)
  await until('the program runs', () => terminal.read(file).endsWith('\n'))
  return { run, pid: Number(terminal.read(file)) }
}

describe('signals sent to run', () => {
  it.each(['INT', 'TERM', 'HUP', 'QUIT', 'USR1', 'USR2', 'WINCH'] as const)('reach the program: %s', async (signal) => {
    const script = `trap 'echo got ${signal}; exit 9' ${signal}; echo ready; while :; do sleep 0.01; done`
    const { run } = await started(['fwd'], `${signal}.pid`, script)
    await until('it is ready', () => run.out.includes('ready'))
    run.kill(`SIG${signal}`)
    expect(await run.exit).toMatchObject({ code: 9, out: `ready\ngot ${signal}\n` })
  })

  it('reach all of its group, as those of a terminal do', async () => {
    const { run, pid } = await started(['grp'], 'grp.pid', 'sleep 60; echo "sleep ended by $?"; exit 4')
    // Until the shell's child has become `sleep`, it would swallow the signal as the shell does.
    await until('it sleeps', () => {
      const child = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
      return child !== '' && readFileSync(`/proc/${child}/cmdline`, 'utf8').startsWith('sleep')
    })
    run.kill('SIGINT')
    // The shell dies by it as well, once its sleep has.
    expect(await run.exit).toMatchObject({ code: 130, out: '' })
  })

  it('leave a program alone that ignores them, and the lock with it', async () => {
    const { run } = await started(['deaf'], 'deaf.pid', `trap '' INT; echo ready; ${acts('deaf.log', 'deaf', 0)}`)
    await until('it is ready', () => run.out.includes('ready'))
    run.kill('SIGINT')
    const before = terminal.read('deaf.log').length
    await until('it goes on', () => terminal.read('deaf.log').length > before + 50)
    expect(await terminal.holdfast('run', 'deaf', '--no-wait', '--', 'true')).toMatchObject({ code: 75 })
    run.kill('SIGTERM')
    expect(await run.exit).toMatchObject({ code: 143 })
  })

  it('stop and continue both: TSTP and CONT', async () => {
    const { run, pid } = await started(['job', '--ttl', '60s'], 'job.pid', 'exec sleep 60')
    run.kill('SIGTSTP')
    await until('both are stopped', () => stateOf(run.pid) === 'T' && stateOf(pid) === 'T')
    run.kill('SIGCONT')
    await until('both go on', () => stateOf(run.pid) !== 'T' && stateOf(pid) !== 'T')
    run.kill('SIGTERM')
    expect(await run.exit).toMatchObject({ code: 143, err: '' })
  })
})
