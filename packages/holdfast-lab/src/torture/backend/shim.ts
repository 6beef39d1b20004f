/**
 * A small library that is put before the C library's own calls, compiled on the spot. What it does hangs on one number,
 * which it reads from a file that we write.
 */
import { execFile } from 'node:child_process'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The number that a program with the library reads. */
export interface Dial {
  /** For the program's environment. */
  readonly env: Readonly<Record<string, string>>
  set(value: bigint): Promise<void>
}

export class Shim {
  /** Why there is none; null: there is. */
  readonly problem: string | null
  readonly #folder: string
  readonly #name: string

  private constructor(folder: string, name: string, problem: string | null) {
    this.#folder = folder
    this.#name = name
    this.problem = problem
  }

  /** `source` is C; its `dial` is the number, from the beginning. Servers that refuse root must get into the folder. */
  static async build(folder: string, name: string, source: string): Promise<Shim> {
    if (process.platform !== 'linux') return new Shim(folder, name, 'libraries are put before others on Linux only')
    const file = join(folder, `${name}.c`)
    await writeFile(file, head(variable(name)) + source)
    try {
      await promisify(execFile)('cc', ['-shared', '-fPIC', '-O1', '-o', join(folder, `${name}.so`), file])
      return new Shim(folder, name, null)
    } catch (error) {
      const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      return new Shim(folder, name, missing ? 'there is no C compiler (cc)' : 'the C compiler failed')
    }
  }

  /** For one program, or for several that go together. */
  async dial(of: string): Promise<Dial> {
    const file = join(this.#folder, `${of}.${this.#name}`)
    await writeFile(file, Buffer.alloc(8), { mode: 0o644 })
    return {
      env: { LD_PRELOAD: join(this.#folder, `${this.#name}.so`), [variable(this.#name)]: file },
      async set(value) {
        const bytes = Buffer.alloc(8)
        bytes.writeBigInt64LE(value)
        // Written in place, because the program has mapped this very file.
        const handle = await open(file, 'r+')
        try {
          await handle.write(bytes, 0, 8, 0)
        } finally {
          await handle.close()
        }
      },
    }
  }
}

/** Libraries of other names must not read this file. */
function variable(name: string): string {
  return `HOLDFAST_${name.toUpperCase()}`
}

/** Raw system calls only: nothing is looked up while a server's own allocator starts (which hangs Redis). */
function head(name: string): string {
  return `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile int64_t zero;
static volatile int64_t *dial = &zero;
__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("${name}");
  int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *at = mmap(0, 8, PROT_READ, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) dial = at;
  close(fd);
}
`
}
