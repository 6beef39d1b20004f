/** Where a program of ours lies: beside the file that starts it, in the sources' build as in what is published. */

/**
 * @param from the `import.meta.url` of the file that starts the program.
 * @param name the program's file name without its ending: `.js` in a build, `.cjs` in what is published.
 */
export function programBeside(from: string, name: string): URL {
  return new URL(`./${name}${from.endsWith('.cjs') ? '.cjs' : '.js'}`, from)
}
