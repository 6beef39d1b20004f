/**
 * A command in a Linux of its own that has a folder on NFS. It is user-mode Linux, a kernel that runs as a program: its
 * root is this machine's, read-only, and it is server and client at once, over its own loopback.
 */
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where the folder on NFS is, for the command. */
export const ON_NFS = '/mnt/far'
const MODULES = '/usr/lib/uml/modules'
const PATIENCE_MS = 120_000

/** Runs the command, and answers what it wrote to the console: both of its outputs, and some words of the kernel. */
export function runOnNfs(folder: string, command: readonly string[]): Promise<string> {
  mkdirSync(join(folder, 'lib'), { recursive: true })
  symlinkSync(MODULES, join(folder, 'lib', 'modules'))
  const init = join(folder, 'init')
  writeFileSync(init, initOf(folder, command))
  chmodSync(init, 0o755)
  const args = ['mem=256M', 'rootfstype=hostfs', 'rootflags=/', 'ro', `init=${init}`, `uml_dir=${folder}/`]
  const env = { PATH: process.env['PATH'], HOME: folder, TMPDIR: folder }
  return new Promise((resolve, reject) => {
    const options = { env, timeout: PATIENCE_MS, killSignal: 'SIGKILL' as const }
    const child = execFile('linux.uml', [...args, 'con=null', 'con0=null,fd:1', 'quiet'], options, (error, said) => {
      // Halted, it may end with any code: what the command said is what counts.
      if (error?.killed === true) reject(new Error(`no end within ${PATIENCE_MS} ms:\n${said}`))
      else resolve(said)
    })
    child.stdin?.end()
  })
}

/**
 * Nobody answers the kernel's questions about exports, so the answers stand in its caches before it asks. Without the
 * last word to nfsd the first file could be opened only after its grace period.
 */
function initOf(folder: string, command: readonly string[]): string {
  return `#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TMPDIR=/mnt/tmp HOME=/mnt/tmp
mount -t proc proc /proc
mount -t tmpfs tmpfs /mnt
mkdir /mnt/tmp /mnt/recovery /mnt/export ${ON_NFS}
mount -t tmpfs -o mode=700 tmpfs /mnt/export
ip link set lo up
modprobe -d ${folder} -a nfsd nfsv4
mount -t nfsd nfsd /proc/fs/nfsd
cd /proc/fs/nfsd
echo '-3 +4 +4.2' > versions
echo /mnt/recovery > nfsv4recoverydir
echo 10 > nfsv4leasetime
echo 10 > nfsv4gracetime
echo 'nfsd 127.0.0.1 2147483647 all' > /proc/net/rpc/auth.unix.ip/channel
echo 'all /mnt/export 2147483647 9234 65534 65534 0' > /proc/net/rpc/nfsd.export/channel
printf '%s\\n' 'all 1 \\x00000000 2147483647 /mnt/export' > /proc/net/rpc/nfsd.fh/channel
echo 'tcp 2049' > portlist
echo 2 > threads
echo Y > v4_end_grace
mount -i -t nfs4 127.0.0.1:/ ${ON_NFS} -o vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1
cd /
${command.map((word) => `'${word}'`).join(' ')}
echo "exit code $?"
echo o > /proc/sysrq-trigger
sleep 60
`
}
