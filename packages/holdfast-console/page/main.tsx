/** Starts the page. */
import { render } from 'preact'
import { App } from './app.tsx'
import { start } from './model.ts'
import { startTheme } from './theme.tsx'

const theme = startTheme()
start()
render(<App theme={theme} />, document.getElementById('app') as HTMLElement)
