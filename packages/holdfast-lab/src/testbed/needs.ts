/** What the testbed looks for and installs: the servers that it can start, and what is used beside them. */

/** A kind of server that the testbed can start. */
export type ServerKind = 'redis' | 'etcd' | 'zookeeper' | 'postgres' | 'pgbouncer' | 'mariadb'

/** What tests, torture and lab use beside servers. */
export type ToolKind =
  | 'compiler'
  | 'networks'
  | 'galera'
  | 'certificates'
  | 'curator'
  | 'kazoo'
  | 'redis-py'
  | 'terminal'
  | 'shells'
  | 'systemd'
  | 'browser'
  | 'spin'
  | 'mounts'
  | 'nfs'

export type Kind = ServerKind | ToolKind

export interface Needs {
  /** Programs; of a server, the first one is asked for its version. */
  readonly programs?: readonly string[]
  /** Java archives, which have no version to ask for but one in their name. */
  readonly archives?: readonly string[]
  /** Libraries that a server loads, in a folder of their own. */
  readonly libraries?: readonly string[]
  /** Packages of Debian's own Python: another python3 on the path does not see them. */
  readonly modules?: readonly string[]
  /** Debian packages that bring all this. */
  readonly packages: readonly string[]
}

const SERVERS: Readonly<Record<ServerKind, Needs>> = {
  redis: { programs: ['redis-server', 'redis-cli'], packages: ['redis-server'] },
  etcd: { programs: ['etcd', 'etcdctl'], packages: ['etcd-server', 'etcd-client'] },
  zookeeper: {
    programs: ['java'],
    archives: ['zookeeper.jar', 'slf4j-simple.jar'],
    packages: ['zookeeper', 'default-jre-headless'],
  },
  postgres: { programs: ['postgres', 'initdb', 'pg_basebackup'], packages: ['postgresql'] },
  pgbouncer: { programs: ['pgbouncer'], packages: ['pgbouncer'] },
  mariadb: { programs: ['mariadbd', 'mariadb-install-db'], packages: ['mariadb-server'] },
}

const TOOLS: Readonly<Record<ToolKind, Needs>> = {
  // A server's clock is moved by a small library, which has to be compiled.
  compiler: { programs: ['cc'], packages: ['gcc', 'libc6-dev'] },
  networks: { programs: ['ip', 'unshare', 'nsenter'], packages: ['iproute2', 'util-linux'] },
  // A node that joins is given its data by rsync.
  galera: {
    programs: ['mariadbd', 'rsync'],
    libraries: ['libgalera_smm.so'],
    packages: ['mariadb-server', 'galera-4', 'rsync'],
  },
  certificates: { programs: ['openssl'], packages: ['openssl'] },
  curator: {
    programs: ['java', 'javac'],
    archives: ['curator-recipes.jar', 'slf4j-nop.jar'],
    packages: ['libcurator-recipes-java', 'default-jdk-headless'],
  },
  kazoo: { modules: ['kazoo'], packages: ['python3-kazoo'] },
  'redis-py': { modules: ['redis'], packages: ['python3-redis'] },
  // Without its window: half as large. A page without any font has no letters.
  browser: { programs: ['chromium-headless-shell'], packages: ['chromium-headless-shell', 'fonts-dejavu-core'] },
  terminal: { programs: ['tmux'], packages: ['tmux'] },
  shells: { programs: ['bash', 'zsh', 'fish'], packages: ['bash', 'zsh', 'fish'] },
  systemd: { programs: ['systemd-analyze'], packages: ['systemd'] },
  // The model checker: it writes a verifier in C, which the compiler builds.
  spin: { programs: ['spin'], packages: ['spin'] },
  // File systems of FUSE: one that reaches for another machine, and one that does not.
  mounts: { programs: ['sshfs', 'bindfs'], packages: ['sshfs', 'bindfs', 'openssh-sftp-server'] },
  // A kernel that runs as a program: few machines that run tests have a kernel with NFS.
  nfs: { programs: ['linux.uml', 'modprobe', 'ip'], packages: ['user-mode-linux', 'kmod', 'iproute2'] },
}

/** All kinds of servers, in the order in which they are started. */
export const serverKinds: readonly ServerKind[] = Object.keys(SERVERS) as ServerKind[]

/** Everything that there is to install. */
export const allKinds: readonly Kind[] = [...serverKinds, ...(Object.keys(TOOLS) as ToolKind[])]

export function isServerKind(name: string): name is ServerKind {
  return Object.hasOwn(SERVERS, name)
}

export function needsOf(kind: Kind): Needs {
  return isServerKind(kind) ? SERVERS[kind] : TOOLS[kind]
}

/** The Debian packages that bring these kinds. */
export function packagesOf(kinds: readonly Kind[]): string[] {
  return [...new Set(kinds.flatMap((kind) => needsOf(kind).packages))]
}
