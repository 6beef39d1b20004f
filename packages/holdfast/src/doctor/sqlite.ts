/** SQLite: is the file on a disk of this machine, and do other programs leave it alone? */
import { existsSync, readFileSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { StoreUrl } from '../store-url.ts'
import { defaultPath } from '../stores/sqlite/default-path.ts'
import type { Chart } from './finding.ts'

/** From linux/magic.h: file systems whose locks other machines do not see, or see late. */
const NETWORKS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'SMB (cifs)'],
  [0xfe534d42, 'SMB 2'],
  [0x517b, 'SMB'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x0bd00bd0, 'Lustre'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
])
const FUSE = 0x65735546
/** Programs of FUSE that reach for another machine, as they are named in the table of mounts. */
const FUSE_NETWORKS =
  /^fuse\.(sshfs|rclone|s3fs|gcsfuse|glusterfs|ceph(-fuse)?|juicefs|blobfuse2?|goofys|mfs|seaweedfs|smbnetfs|fuse-nfs)$/

/** The name of a network file system; null: not one that we know. */
export function networkKind(type: number): string | null {
  return NETWORKS.get(type) ?? null
}

const SYNCED =
  /^(Dropbox|OneDrive.*|Google ?Drive|GoogleDrive-.*|iCloud ?Drive|Mobile Documents|\w+[cC]loud|Box|pCloud ?Drive)$/i
const MARKS = [
  '.stfolder',
  '.dropbox',
  '.dropbox.cache',
  '.sync_exclude.lst',
  '.nextcloudsync.log',
  '.owncloudsync.log',
]

export function checkSqlite(chart: Chart, url: StoreUrl): void {
  const named = decodeURIComponent(url.rest.replace(/^\/\/(?=\/)/, ''))
  const file = resolve(named === '' ? defaultPath(process.env) : named)
  const folder = dirname(file)
  if (!existsSync(folder)) {
    chart.note('sqlite.file', `${folder} is not there yet`, 'it is made with the first lock', 'ask again afterwards')
    return
  }
  checkFileSystem(chart, folder)
  checkSync(chart, folder)
  checkRights(chart, file)
}

function checkFileSystem(chart: Chart, folder: string): void {
  const { type } = statfsSync(folder)
  const network = networkKind(type)
  const why =
    'locks of such files are not seen by all machines, or late: the file may be corrupt, and two may hold at once'
  const todo = 'keep the file on a disk of this machine; for several machines use a server'
  const fuse = type === FUSE ? fuseKind(folder) : ''
  if (network !== null || FUSE_NETWORKS.test(fuse)) {
    chart.danger('sqlite.filesystem', `${folder} is on ${network ?? fuse}, a network file system`, why, todo)
  } else if (type === FUSE) {
    chart.warning('sqlite.filesystem', `${folder} is on FUSE (${fuse}), which may be a network`, why, todo)
  } else
    chart.ok('sqlite.filesystem', `${folder} is not on a network file system that we know (0x${type.toString(16)})`)
}

/** The kind of FUSE, for example `fuse.sshfs`; `fuse` where the table of mounts can't be read. */
function fuseKind(folder: string): string {
  try {
    return kindIn(readFileSync('/proc/self/mountinfo', 'utf8'), realpathSync(folder))
  } catch {
    return 'fuse'
  }
}

/** A line: `83 27 0:41 / /mnt/far rw - fuse.sshfs far:/data rw`. Of two mounts on one folder the later one counts. */
function kindIn(mounts: string, folder: string): string {
  let [longest, kind] = ['', 'fuse']
  for (const line of mounts.split('\n')) {
    const [left = '', right = ''] = line.split(' - ')
    const at = (left.split(' ')[4] ?? '').replace(/\\(\d{3})/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 8)),
    )
    const isAbove = at !== '' && (folder === at || folder.startsWith(at === '/' ? at : `${at}/`))
    if (isAbove && at.length >= longest.length) [longest, kind] = [at, right.split(' ')[0] ?? 'fuse']
  }
  return kind
}

function checkSync(chart: Chart, folder: string): void {
  for (let at = folder; ; at = dirname(at)) {
    const mark = MARKS.find((name) => existsSync(join(at, name)))
    if (SYNCED.test(at.split('/').at(-1) ?? '') || mark !== undefined) {
      const why =
        'a program copies the file while it is in use, and puts older ones in its place: locks vanish or come back'
      chart.danger(
        'sqlite.synced',
        `${at} seems to be synchronized${mark === undefined ? '' : ` (${mark})`}`,
        why,
        'keep the file elsewhere',
      )
      return
    }
    if (dirname(at) === at) break
  }
  chart.ok('sqlite.synced', 'it is not in a folder that a sync program we know looks after')
}

function checkRights(chart: Chart, file: string): void {
  const at = existsSync(file) ? file : dirname(file)
  const { mode } = statSync(at)
  const shown = `${at} has mode ${(mode & 0o777).toString(8)}`
  const isSticky = (mode & 0o1000) !== 0
  if ((mode & 0o002) !== 0 && !isSticky) {
    const why = 'every user of this machine can take, break and forge locks'
    chart.danger('sqlite.rights', `${shown}: others may write`, why, 'chmod o-w')
  } else if ((mode & 0o004) !== 0 && existsSync(file)) {
    const why = 'every user sees the names of locks, and a reader of a SQLite file can keep writers out'
    chart.warning('sqlite.rights', `${shown}: others may read`, why, 'chmod o-rwx, for the file and its folder')
  } else {
    chart.ok('sqlite.rights', `${shown}: others may not`)
  }
}
