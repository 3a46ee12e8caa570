import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ProcessGroup } from '../dist/processes/process-group.js';
import { withPostgres } from '../dist/stores/clients.js';
import { openStores } from '../dist/stores/stores.js';
import { FleetFixture } from './support/fleet-fixture.mjs';

describe('a fleet on servers of the user', () => {
  const fixture = new FleetFixture({ port: 28_180 });
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fleet-servers-'));
  let group;
  let stores;

  before(async () => {
    group = new ProcessGroup(dir);
    const context = { dir, group, say: () => {}, onChange: () => {}, ports: {}, isThrowaway: true };
    stores = await openStores(context, []);
    const { postgres, redis, nats } = stores;
    Object.assign(fixture.env, { DATABASE_URL: postgres.url, REDIS_URL: redis.url, NATS_URL: nats.url });
  });
  after(async () => {
    await fixture.remove();
    await group?.release();
    fs.rmSync(dir, { recursive: true, force: true });
  });

  const hasDatabase = () =>
    withPostgres(stores.postgres.url, async (client) => {
      const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = 'rmm_fleet'");
      return rowCount === 1;
    });

  it('starts no stores of its own', async () => {
    const started = await fixture.fleet('up', '--detach');
    assert.equal(started.status, 0, started.stdout + started.stderr);
    assert.match(started.stdout, /PostgreSQL \S+.* \(DATABASE_URL\)/);
    const status = await fixture.status();
    assert.deepEqual(status.stores, []);
    assert.equal(new URL(status.databaseUrl).port, new URL(stores.postgres.url).port);
    assert.equal(await hasDatabase(), true);
  });

  it('leaves them unchanged at reset, and names what remains there', async () => {
    assert.equal((await fixture.fleet('down')).status, 0);
    const reset = await fixture.fleet('reset', '--yes');
    assert.equal(reset.status, 0, reset.stderr);
    assert.match(reset.stdout, /database rmm_fleet, keys rmm:\* and streams RMM_\* on 127\.0\.0\.1:\d+/);
    assert.equal(await hasDatabase(), true);
    assert.equal(fs.existsSync(path.join(fixture.dir, 'data/dev')), false);
  });
});
