/** What readers ask the search, and what must come first. docs/explain/search.md has what was found. */
export interface Question {
  readonly question: string
  /** The address of the first hit, without `.html`. */
  readonly first: RegExp
}

export const QUESTIONS: readonly Question[] = [
  { question: 'how long does a lock last by default', first: /^start\/loss#how-long|^reference\/options#ttlms/ },
  {
    question: 'what happens when Redis fails over',
    first: /^reference\/stores\/redis#what-happens-when-redis-fails-over$/,
  },
  { question: 'how to migrate from redlock', first: /^how-to\/(migrating|moving|from)/ },
  { question: 'HF_LOST', first: /^reference\/errors#hf_lost$/ },
  { question: 'what HF_LOST means and what to do', first: /^reference\/errors#hf_lost$/ },
  { question: 'how to run a cron job once', first: /^how-to\/cron|^reference\/holds#jobs-hfonce/ },
  { question: 'how to alert on lost locks', first: /^how-to\/monitoring|^reference\/events#/ },
  { question: 'who holds the lock', first: /^start\/waiting#who-holds-the-lock$/ },
  { question: 'release a stuck lock', first: /^how-to\/shutdown#release-a-stuck-lock$/ },
  { question: 'read a lock by hand postgres', first: /^reference\/stores\/postgres#what-it-stores/ },
  { question: 'semaphore limit concurrency', first: /^how-to\/kinds/ },
  { question: 'read write lock', first: /^how-to\/kinds/ },
  { question: 'reentrant lock', first: /^how-to\/kinds|^reference\/options#reentrant/ },
  { question: 'lock without redis', first: /^start\/first-lock#without-redis/ },
  { question: 'ECONNREFUSED', first: /^reference\/errors#hf_unreachable$/ },
  { question: 'does it work with bun', first: /^reference\/platforms/ },
  { question: 'typescript cjs require', first: /^how-to\/consumers/ },
  { question: 'force unlock', first: /^how-to\/shutdown#release-a-stuck-lock$/ },
  { question: 'holdfast doctor', first: /^reference\/cli/ },
  { question: '信号量', first: /^zh\/how-to\/kinds/ },
  { question: '锁过期了业务还没执行完怎么办', first: /^zh\/five-texts#/ },
  { question: '怎么强制释放锁', first: /^zh\/how-to\/shutdown#/ },
  { question: '怎么选存储', first: /^zh\/choosing/ },
  { question: '超卖', first: /^zh\// },
]
