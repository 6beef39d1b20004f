/** A list of which only what is seen is drawn: ten thousand rows cost as much as thirty. */
import type { CSSProperties, HTMLAttributes, JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

export interface VirtualProps {
  readonly count: number
  readonly rowHeight: number
  readonly render: (index: number, style: CSSProperties) => JSX.Element
  /** Moved to by the keyboard; -1: none. */
  readonly active: number
  readonly onActive: (index: number) => void
  readonly onOpen?: (index: number) => void
  /** Of the element that scrolls. */
  readonly props: HTMLAttributes<HTMLDivElement>
  readonly header?: JSX.Element
}

/** Rows drawn above and below what is seen. */
const OVERSCAN = 6

export function Virtual(props: VirtualProps): JSX.Element {
  const { count, rowHeight, render, active, onActive, onOpen } = props
  const box = useRef<HTMLDivElement>(null)
  const head = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 800 })
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const measure = (): void => setView({ top: element.scrollTop, height: element.clientHeight })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    measure()
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [])
  const first = Math.max(0, Math.floor(view.top / rowHeight) - OVERSCAN)
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + OVERSCAN)

  const move = (to: number): void => {
    const index = Math.max(0, Math.min(count - 1, to))
    const element = box.current
    if (element === null || count === 0) return
    onActive(index)
    const headHeight = head.current?.offsetHeight ?? 0
    const top = index * rowHeight
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + rowHeight + headHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + rowHeight + headHeight - element.clientHeight
    }
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== box.current) return
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1)
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: count - 1,
    }
    const to = steps[event.key]
    if (to !== undefined) move(to)
    else if (event.key === 'Enter' && active >= 0) onOpen?.(active)
    else return
    event.preventDefault()
  }

  const rows: JSX.Element[] = []
  for (let i = first; i < last; i++) {
    rows.push(render(i, { position: 'absolute', top: `${i * rowHeight}px`, height: `${rowHeight}px` }))
  }
  return (
    <div {...props.props} ref={box} tabIndex={0} onKeyDown={onKeyDown}>
      {props.header === undefined ? null : (
        <div role="rowgroup" class="grid-head" ref={head}>
          {props.header}
        </div>
      )}
      <div role="rowgroup" class="grid-body" style={{ height: `${count * rowHeight}px` }}>
        {rows}
      </div>
    </div>
  )
}
