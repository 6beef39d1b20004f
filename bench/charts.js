/** Charts as SVG text, made of the figures of a kept run. Their colours follow the reader's choice of light or dark. */

/** @typedef {'ours' | 'raw' | 'peer'} Kind */
/** @typedef {{ label: string, kind: Kind, median: number, p25: number, p75: number, shown: string }} ChartBar */
/** @typedef {{ label: string, bars: readonly ChartBar[] }} ChartGroup */
/** @typedef {{ label: string, points: readonly { x: number, y: number }[] }} ChartLine */

const WIDTH = 760
const LABEL = 210
const VALUE = 130
const BAR = 16
const GAP = 6

const STYLE = `
  .paper { fill: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e } .axis { stroke: #d1d9e0 }
  .one { stroke: #1f2328; stroke-dasharray: 3 3 } .ours { fill: #2f6fdb } .raw { fill: #8b949e } .peer { fill: #c2702a }
  .spread { stroke: #1f2328; stroke-width: 1.5 } .line { fill: none; stroke-width: 2 }
  text { font: 12px system-ui, sans-serif } .title { font-size: 15px; font-weight: 600 } .end { text-anchor: end }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .text { fill: #e6edf3 } .faint { fill: #9198a1 } .axis { stroke: #3d444d }
    .one { stroke: #e6edf3 } .ours { fill: #5b93f0 } .raw { fill: #7d8590 } .peer { fill: #dd8f4d }
    .spread { stroke: #e6edf3 }
  }`

/** Strokes that differ on white and on black, also for readers who see no red or green. */
const STROKES = ['#2f7fe0', '#d9822b', '#7f8c99', '#b45fc9', '#2aa198', '#c9a227', '#d05a78', '#6a9f3a']

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** @param {number} value */
function at(value) {
  return String(Math.round(value * 10) / 10)
}

/** @param {number} height @param {string} title @param {string} note @param {readonly string[]} parts */
function svg(height, title, note, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`,
    `  role="img" aria-label="${escaped(title)}">`,
    `<style>${STYLE}\n</style>`,
    `<rect class="paper" width="${WIDTH}" height="${height}" rx="6"/>`,
    `<text class="text title" x="16" y="26">${escaped(title)}</text>`,
    `<text class="faint" x="16" y="46">${escaped(note)}</text>`,
    ...parts,
    '</svg>\n',
  ].join('\n')
}

/**
 * Horizontal bars in groups, with the middle half of the rounds as a whisker, and a line where both are equal.
 *
 * @param {{ title: string, note: string, groups: readonly ChartGroup[], one: boolean }} chart
 */
export function barChart({ title, note, groups, one }) {
  const all = groups.flatMap(({ bars }) => bars)
  const most = Math.max(1e-9, one ? 1.05 : 0, ...all.map(({ median, p75 }) => Math.max(median, p75)))
  const scale = (WIDTH - LABEL - VALUE - 16) / most
  /** @type {string[]} */
  const parts = []
  let y = 66
  for (const { label, bars } of groups) {
    parts.push(`<text class="text" x="16" y="${y + 10}" font-weight="600">${escaped(label)}</text>`)
    y += 20
    for (const bar of bars) {
      const middle = y + BAR / 2
      const x = (/** @type {number} */ value) => at(LABEL + value * scale)
      parts.push(`<text class="faint end" x="${LABEL - 8}" y="${middle + 4}">${escaped(bar.label)}</text>`)
      parts.push(`<rect class="${bar.kind}" x="${LABEL}" y="${y}" width="${at(bar.median * scale)}" height="${BAR}"/>`)
      parts.push(`<path class="spread" d="M${x(bar.p25)} ${middle}H${x(bar.p75)}"/>`)
      const after = at(LABEL + Math.max(bar.median, bar.p75) * scale + 8)
      parts.push(`<text class="text" x="${after}" y="${middle + 4}">${escaped(bar.shown)}</text>`)
      y += BAR + GAP
    }
    y += 10
  }
  if (one) parts.push(`<path class="one" d="M${at(LABEL + scale)} 56V${y - 8}"/>`)
  return svg(y + 8, title, note, parts)
}

/**
 * Lines over sizes, both axes by powers of ten and of two, with the bar as a dashed line.
 *
 * @param {{ title: string, note: string, lines: readonly ChartLine[], most: number }} chart
 */
export function lineChart({ title, note, lines, most }) {
  const points = lines.flatMap((line) => line.points)
  const [left, right, top, bottom] = [60, WIDTH - 160, 66, 306]
  const logs = points.map(({ x }) => Math.log10(x))
  const [low, high] = [Math.min(...logs), Math.max(...logs)]
  const ys = points.map(({ y }) => Math.log2(y))
  const [floor, roof] = [Math.min(-1, Math.floor(Math.min(...ys))), Math.max(1, Math.ceil(Math.max(...ys)))]
  const px = (/** @type {number} */ x) => at(left + ((Math.log10(x) - low) / (high - low || 1)) * (right - left))
  const py = (/** @type {number} */ y) => at(bottom - ((Math.log2(y) - floor) / (roof - floor)) * (bottom - top))
  /** @type {string[]} */
  const parts = []
  for (let step = floor; step <= roof; step++) {
    const y = py(2 ** step)
    parts.push(`<path class="axis" d="M${left} ${y}H${right}"/>`)
    parts.push(`<text class="faint end" x="${left - 8}" y="${Number(y) + 4}">${2 ** step}</text>`)
  }
  for (let step = Math.ceil(low); step <= high; step++) {
    const x = px(10 ** step)
    parts.push(
      `<text class="faint" x="${Number(x) - 14}" y="${bottom + 22}">${(10 ** step).toLocaleString('en')}</text>`,
    )
  }
  parts.push(`<path class="one" d="M${left} ${py(most)}H${right}"/>`)
  for (const [i, { label, points }] of lines.entries()) {
    const stroke = STROKES[i % STROKES.length]
    const path = points.map(({ x, y }, n) => `${n === 0 ? 'M' : 'L'}${px(x)} ${py(y)}`).join('')
    parts.push(`<path class="line" stroke="${stroke}" d="${path}"/>`)
    for (const { x, y } of points) parts.push(`<circle fill="${stroke}" r="3" cx="${px(x)}" cy="${py(y)}"/>`)
    parts.push(`<rect fill="${stroke}" x="${right + 24}" y="${top + i * 20 - 8}" width="12" height="4"/>`)
    parts.push(`<text class="text" x="${right + 44}" y="${top + i * 20 - 2}">${escaped(label)}</text>`)
  }
  return svg(bottom + 36, title, note, parts)
}
