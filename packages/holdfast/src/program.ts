/** Finds a program of ours. It lies beside the file that starts it, in the build of the sources and in the package. */

/**
 * @param from the `import.meta.url` of the file that starts the program.
 * @param name the file name of the program without its ending. The ending is `.js` in a build, `.cjs` in the package.
 */
export function programBeside(from: string, name: string): URL {
  return new URL(`./${name}${from.endsWith('.cjs') ? '.cjs' : '.js'}`, from)
}
