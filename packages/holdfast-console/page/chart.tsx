/** One number over time, drawn by uPlot. */
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

export interface ChartProps {
  readonly title: string
  /** What it is now. */
  readonly value: string
  /** Seconds since 1970. */
  readonly xs: readonly number[]
  readonly ys: readonly number[]
  readonly look: 'line' | 'bars'
  /** The name of a colour of the style sheet. */
  readonly colour: string
}

const HEIGHT_PX = 66
/** A minute at least, also of a console that has just been started. */
const RANGE_S = 60

export function Chart({ title, value, xs, ys, look, colour }: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const data = useRef<uPlot.AlignedData>([[], []])
  data.current = [[...xs], [...ys]]
  useEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const make = (): void => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsOf(element, look, colour), data.current, element)
    }
    make()
    const observer = new ResizeObserver(() => {
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT_PX })
    })
    observer.observe(element)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', make)
    addEventListener('holdfast-theme', make)
    return () => {
      observer.disconnect()
      scheme.removeEventListener('change', make)
      removeEventListener('holdfast-theme', make)
      plot.current?.destroy()
    }
  }, [look, colour])
  useEffect(() => {
    plot.current?.setData(data.current)
  }, [xs, ys])
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <b>{value}</b>
      </figcaption>
      <div ref={box} role="img" aria-label={`${title}: ${value} now, at most ${Math.max(0, ...ys)}`} />
    </figure>
  )
}

/** A canvas knows no variables: what the colour is now, light or dark. */
function resolved(element: HTMLElement, name: string): string {
  element.style.color = `var(--${name})`
  return getComputedStyle(element).color
}

function optionsOf(element: HTMLElement, look: 'line' | 'bars', colour: string): uPlot.Options {
  const stroke = resolved(element, colour)
  const ink = resolved(element, 'faint')
  const rule = resolved(element, 'rule')
  const font = '11px Inter, system-ui, sans-serif'
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    padding: [9, 18, 0, 0],
    scales: {
      x: { range: (_, min, max) => [Math.min(min, max - RANGE_S), max] },
      y: { range: (_, __, max) => [0, Math.max(1, max)] },
    },
    axes: [
      { size: 18, font, stroke: ink, grid: { show: false }, ticks: { show: false }, space: 70, values: times },
      {
        size: 44,
        font,
        stroke: ink,
        grid: { stroke: rule, width: 1 },
        ticks: { show: false },
        // The top and the bottom say enough.
        splits: (_, __, min, max) => [min, max],
      },
    ],
    series: [
      {},
      {
        stroke,
        width: look === 'bars' ? 0 : 1.5,
        fill: look === 'bars' ? stroke : `color-mix(in srgb, ${stroke} 14%, transparent)`,
        points: { show: false },
        ...(look === 'bars' && uPlot.paths.bars !== undefined
          ? { paths: uPlot.paths.bars({ size: [0.8, 14], align: 0 }) }
          : {}),
      },
    ],
  }
}

function times(_: uPlot, splits: number[]): string[] {
  return splits.map((at) =>
    new Date(at * 1_000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hour12: false }),
  )
}
