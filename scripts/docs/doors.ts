/** The doors of the documentation: which folder is which, in the order of the navigation. */
export interface Door {
  readonly name: string
  /** The name in the navigation. */
  readonly title: string
  /** What a reader finds behind this door; the first page shows it. */
  readonly says: string
  /** How much a hit counts in the search: a guide comes before a decision record. */
  readonly weight: number
  /** The door whose pages link to this one. Such a door is not in the first row of the navigation. */
  readonly within?: string
}

export const DOORS: readonly Door[] = [
  { name: 'start', title: 'Start', says: 'Ten minutes: the first lock, waiting, loss, fencing.', weight: 1.3 },
  {
    name: 'how-to',
    title: 'How to',
    says: 'One page for one task: cron, migrations, rate limits, moving over.',
    weight: 1.2,
  },
  {
    name: 'reference',
    title: 'Reference',
    says: 'Every option, error, event, command and store, and the API.',
    weight: 1.1,
  },
  {
    name: 'explain',
    title: 'Explain',
    says: 'What is promised, why you may believe it, and which store to choose.',
    weight: 1,
  },
  {
    name: 'stories',
    title: 'Stories',
    says: 'Five locks that break, each drawn from a run that you can repeat.',
    weight: 0.8,
  },
  { name: 'zh', title: '简体中文', says: '中文文档。', weight: 1 },
  {
    name: 'api',
    title: 'API',
    says: 'Every public name, from its comment in the source.',
    weight: 0.5,
    within: 'reference',
  },
  {
    name: 'decisions',
    title: 'Decisions',
    says: 'What was measured before it was decided.',
    weight: 0.5,
    within: 'explain',
  },
  {
    name: 'project',
    title: 'Project',
    says: 'How to work on Holdfast, and what has changed.',
    weight: 0.5,
    within: 'explain',
  },
  { name: 'home', title: 'Holdfast', says: '', weight: 0.6, within: '' },
]

/** Records of runs and of searches: lists that contain nearly every word. */
const RECORDS = /\/(evidence|mutations|bench|versions|search)\.html$/

/** How much a hit on a page counts in the search. */
export function weightOf(door: string, url: string): number {
  return doorOf(door).weight * (RECORDS.test(`/${url}`) ? 0.5 : 1)
}

export function doorOf(name: string): Door {
  const door = DOORS.find((each) => each.name === name)
  if (door === undefined) throw new Error(`no door ${name}: docs/${name} is not in scripts/docs/doors.ts`)
  return door
}
