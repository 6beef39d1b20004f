/** What these tests use of Express, whose types are another package. */
declare module 'express' {
  import type { IncomingMessage, ServerResponse } from 'node:http'
  export interface Request extends IncomingMessage {
    readonly params: Readonly<Record<string, string>>
    readonly body: unknown
  }
  export interface Response extends ServerResponse {
    send(body: string): void
    status(code: number): Response
  }
  type Next = (error?: unknown) => void
  type Handler = (request: Request, response: Response, next: Next) => unknown
  type ErrorHandler = (error: unknown, request: Request, response: Response, next: Next) => unknown
  interface App {
    (request: IncomingMessage, response: ServerResponse): void
    use(...handlers: (Handler | ErrorHandler)[]): void
    all(path: string, ...handlers: Handler[]): void
  }
  function express(): App
  namespace express {
    function text(options: { type: string }): Handler
  }
  export default express
}
