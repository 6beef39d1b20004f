import { work } from '../../app.mjs'

export const dynamic = 'force-dynamic'

export async function GET() {
  return Response.json(await work())
}
