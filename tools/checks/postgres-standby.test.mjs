import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { ProcessGroup } from '../dist/processes/process-group.js';
import { withPostgres } from '../dist/stores/clients.js';
import { startPostgresWithStandby } from '../dist/stores/postgres-standby.js';
import { startPostgres } from '../dist/stores/postgres.js';

describe('a private PostgreSQL with a standby', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fleet-standby-'));
  const data = path.join(dir, 'data');
  const ports = {};
  let group;
  let store;

  const contextOf = () => ({ dir: data, group, say: () => {}, onChange: () => {}, ports, isThrowaway: false });
  const query = (url, sql) => withPostgres(url, async (client) => (await client.query(sql)).rows);
  const restart = async (start) => {
    await group?.release();
    group = new ProcessGroup();
    store = await start(contextOf());
  };

  before(() => fs.mkdirSync(data));
  beforeEach(() => restart(startPostgresWithStandby));
  after(async () => {
    await group?.release();
    fs.rmSync(dir, { recursive: true, force: true });
  });

  it('waits for the standby at each commit', async () => {
    await query(store.url, 'CREATE TABLE kept (id int)');
    const [standby] = await query(store.url, 'SELECT state, sync_state FROM pg_stat_replication');
    assert.deepEqual(standby, { state: 'streaming', sync_state: 'sync' });
    await query(store.url, 'INSERT INTO kept VALUES (1)');
    await assert.rejects(query(store.standbyUrl, 'INSERT INTO kept VALUES (2)'), /read-only/);
  });

  it('leads to the standby when it is promoted, ends connections to the other, and keeps the data at the next start', async () => {
    await withPostgres(store.url, async (client) => {
      const ended = new Promise((resolve) => client.once('end', resolve));
      await query(store.standbyUrl, 'SELECT pg_promote()');
      await ended;
    });
    await query(store.url, 'INSERT INTO kept VALUES (3)');
    const expected = [{ id: 1 }, { id: 3 }];
    assert.deepEqual(await query(store.standbyUrl, 'SELECT id FROM kept ORDER BY id'), expected);
    for (const start of [startPostgres, startPostgresWithStandby]) {
      await restart(start);
      assert.deepEqual(await query(store.url, 'SELECT id FROM kept ORDER BY id'), expected);
    }
  });
});
