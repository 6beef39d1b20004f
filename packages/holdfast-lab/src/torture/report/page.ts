/** One HTML file with everything in it: the frame around a report. */

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #6a737d; --paper: #fff; --rule: #d8dee4;
  --bad: #c62828; --good: #2e7d32 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --dim: #8b949e; --paper: #0d1117; --rule: #30363d;
  --bad: #ff6b6b; --good: #56d364 } }
body { font: 14px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 80rem; padding: 0 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse }
td, th { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule) }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
.bad { color: var(--bad); font-weight: 600 } .good { color: var(--good) } .dim { color: var(--dim) }
.wide { overflow-x: auto } td, th { overflow-wrap: normal } td.n { white-space: nowrap }
.scroll { overflow-x: auto; border: 1px solid var(--rule); border-radius: 6px }
svg text { font: 11px system-ui, sans-serif; fill: var(--ink) } svg .grid { stroke: var(--rule) }
svg .fault { fill: #f9a825; opacity: .25 } svg .forget { fill: #ad1457; opacity: .2 }
svg .mark { fill: var(--bad) } svg .soft { fill: #e8910c }
`

/** @param body HTML. @param style further rules. */
export function page(title: string, body: string, style = ''): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${STYLE}${style}</style></head><body>
${body}
</body></html>
`
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.codePointAt(0)};`)
}
