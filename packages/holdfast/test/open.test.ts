/** `holdfast(x)`, where x is no store that works: a UsageError that names what was seen and what works. */
import express from 'express'
import { Redis } from 'ioredis'
import mysql2 from 'mysql2'
import { Client, Pool } from 'pg'
import { expect, test } from 'vitest'
import { holdfast, type HoldfastOptions, UsageError } from '../src/index.ts'
import { mysql } from '../src/stores/mysql/index.ts'
import { postgres } from '../src/stores/postgres/index.ts'
import { redis } from '../src/stores/redis/index.ts'
import { redlock } from '../src/stores/redlock/index.ts'

const WORKS = /ioredis 4 to 6.*redis .* 4 to 6.*Pool of pg 8.*postgres 3.*pool of mysql2 3/

class MongoClient {
  db(): void {}
  startSession(): void {}
  withSession(): void {}
}

const connection = (): unknown => {
  const made = mysql2.createConnection({ host: '127.0.0.1', port: 1 })
  made.on('error', () => undefined)
  return made
}

test.each<[string, () => unknown, RegExp]>([
  ['an Express app', () => express(), /Given an Express app$/],
  ['a MongoDB client', () => new MongoClient(), /Given a MongoDB client$/],
  ['a pg Client', () => new Client({}), /Given a pg Client, which is one connection$/],
  ['a mysql2 connection', connection, /Given a mysql2 connection$/],
  ['a mysql2 PoolCluster', () => mysql2.createPoolCluster(), /Given a mysql2 PoolCluster$/],
  ['an object of some class', () => new Map(), /Given an object of class Map$/],
  ['an object', () => ({}), /Given an object$/],
  ['a function', () => () => 0, /Given a function/],
  ['null', () => null, /Given null$/],
  [
    'several clients',
    () => [new Redis({ lazyConnect: true })],
    /an array; for several Redis servers, give redlock\(\[…\]\)/,
  ],
])('%s', async (_, make, seen) => {
  const given = make() as never
  await expect(holdfast(given)).rejects.toThrow(UsageError)
  await expect(holdfast(given)).rejects.toThrow(seen)
  await expect(holdfast(given)).rejects.toThrow(WORKS)
})

/** Members as the packages have them: what they are known by. */
const redis3 = { send_command: () => true, duplicate: () => null, server_info: {}, connected: false }
const ioredis3 = {
  ...{ call: () => null, subscribe: () => null, connect: () => null, disconnect: () => null, duplicate: () => null },
  status: 'wait',
  options: { host: 'localhost' },
}
const redis40 = {
  ...{ sendCommand: () => null, connect: () => null, duplicate: () => null, subscribe: () => null },
  isOpen: true,
}

test.each([
  ['redis 2 or 3', redis3],
  ['ioredis 3 or older', ioredis3],
  ['redis before 4.3', redis40],
])('a client of %s is too old, however it is given', async (name, client) => {
  const message = new RegExp(`given a client of ${name}, which is too old: give a client of ioredis 4 to 6`)
  await expect(holdfast(client as never)).rejects.toThrow(UsageError)
  await expect(holdfast(client as never)).rejects.toThrow(message)
  expect(() => redis(client as never)).toThrow(message)
})

test('each factory names what it was given, and what it takes', () => {
  expect(() => redis(new Pool({}) as never)).toThrow(/a Redis store must be .* given an object of class BoundPool/)
  expect(() => postgres(new Client({}) as never)).toThrow(/a Pool of pg 8.* given a pg Client/)
  expect(() => postgres(express() as never)).toThrow(/given an Express app/)
  expect(() => mysql(connection() as never)).toThrow(/a pool of mysql2 3 .* given a mysql2 connection/)
  expect(() => mysql(new Pool({}) as never)).toThrow(UsageError)
})

test('options are refused before a client is used', async () => {
  const client = new Redis({ lazyConnect: true })
  const refused = async (options: object): Promise<unknown> => holdfast(client, options as HoldfastOptions)
  await expect(refused({ ttl: 5 })).rejects.toThrow(/has no option "ttl"/)
  await expect(refused({ heartbeat: 'worker' })).rejects.toThrow(/needs a store given by URL/)
  expect(client.status).toBe('wait')
})

test('one server given to Redlock twice is refused, by whichever clients', () => {
  const at = (host: string, port: number): Redis => new Redis({ host, port, lazyConnect: true })
  const [a, b, other] = [at('h1', 7001), at('h1', 7001), at('h2', 7001)]
  const url = 'redis://h1:7001'
  for (const stores of [
    [a, a, other],
    [a, b, other],
    [a, url, other],
    [url, other, url],
    [at('localhost', 7002), at('127.0.0.1', 7002), other],
  ]) {
    expect(() => redlock(stores)).toThrow(UsageError)
    expect(() => redlock(stores)).toThrow(/(h1:7001|127.0.0.1:7002) is given twice: .* Give each server once/)
  }
  expect(redlock([a, other, at('h1', 7003)])).toBeDefined()
})
