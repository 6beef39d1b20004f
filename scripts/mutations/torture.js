/**
 * Faults of upgrades, breaks, crowds of readers and several locks in the product itself: the torture of a real store
 * sees them.
 */
export default [
  {
    rule: 'torture',
    name: 'torture-upgrade-beside-readers',
    says: 'an upgrade writes without waiting for the readers that hold',
    file: 'packages/holdfast/src/acquire/raise.ts',
    find: 'if (place !== null && isGranted(this.#heavy, place)) return',
    replace: 'if (place !== null && isGranted(this.#heavy, { ahead: 0 })) return',
    test: 'packages/holdfast-lab/test/torture/sqlite.real.test.ts',
  },
  {
    rule: 'torture',
    name: 'torture-broken-leaves',
    says: 'a broken place is gone when its holder leaves it, and the next is served early',
    file: 'packages/holdfast/src/stores/sqlite/removal.ts',
    find: 'AND id = ? AND broken = 0 RETURNING',
    replace: 'AND id = ? RETURNING',
    test: 'packages/holdfast-lab/test/torture/sqlite.real.test.ts',
  },
  {
    rule: 'torture',
    name: 'torture-readers-let-in',
    says: 'readers join a place of their process although the store says that somebody waits',
    file: 'packages/holdfast/src/acquire/readers.ts',
    find: 'place !== null && !place.wanted && group.joinable === lease',
    replace: 'place !== null && group.joinable === lease',
    test: 'packages/holdfast-lab/test/torture/sqlite.real.test.ts',
  },
]
