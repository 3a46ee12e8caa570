import { Redis } from 'ioredis';
import { connect } from 'nats';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import type { FleetHandle } from '@rmm/testing';
import { natsServerOf } from '../nats-server.js';

const SCHEMAS = ['identity', 'credentials', 'partner_gateway', 'provisioning', 'webhook_dispatcher'];

/** Dumps every row of every table of the fleet as text. */
export async function* allOfDatabase(fleet: FleetHandle): AsyncGenerator<string> {
  const client = new pg.Client({ connectionString: fleet.databaseUrl });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = any ($1)`,
      [SCHEMAS],
    );
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t`);
      for (const { row } of rows) yield row;
    }
  } finally {
    await client.end();
  }
}

/** Dumps all Redis keys and values: windows, jobs, locks. */
export async function* allOfRedis(fleet: FleetHandle): AsyncGenerator<string> {
  const redis = new Redis(fleet.redisUrl);
  try {
    let cursor = '0';
    do {
      const [next, names] = await redis.scan(cursor, 'COUNT', 500);
      cursor = next;
      for (const name of names) yield `${name} ${JSON.stringify(await valueOf(redis, name))}`;
    } while (cursor !== '0');
  } finally {
    redis.disconnect();
  }
}

async function valueOf(redis: Redis, name: string): Promise<unknown> {
  const type = await redis.type(name);
  switch (type) {
    case 'string':
      return redis.get(name);
    case 'hash':
      return redis.hgetall(name);
    case 'list':
      return redis.lrange(name, 0, -1);
    case 'set':
      return redis.smembers(name);
    case 'zset':
      return redis.zrange(name, 0, -1);
    case 'stream':
      return redis.xrange(name, '-', '+');
    default:
      if (type === 'none') return null; // it has just expired
      throw new Error(`${name} is of type ${type}, which this dump does not read`);
  }
}

/** Dumps every message of every stream. */
export async function* allOfStreams(fleet: FleetHandle): AsyncGenerator<string> {
  const connection = await connect(natsServerOf(fleet));
  try {
    const manager = await connection.jetstreamManager();
    for await (const { config, state } of manager.streams.list()) {
      for (let seq = state.first_seq; seq > 0 && seq <= state.last_seq; seq += 1) {
        const message = await manager.streams.getMessage(config.name, { seq }).catch(() => null);
        if (message) yield `${message.subject} ${message.string()}`;
      }
    }
  } finally {
    await connection.close();
  }
}

/** Dumps every line of every log file of the fleet. */
export async function* allOfLogs(fleet: FleetHandle): AsyncGenerator<string> {
  const folder = resolve(fleet.logs); // relative to the checkout, where specs run
  for (const name of await readdir(folder)) {
    for await (const line of createInterface(createReadStream(join(folder, name)))) yield line;
  }
}
