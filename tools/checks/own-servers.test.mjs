import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startThrowawayStores } from '../stores/throwaway.mjs';
import { FleetFixture } from './support/fleet-fixture.mjs';

describe('two fleets and one set of servers that were there before', () => {
  const [first, second] = [new FleetFixture({ port: 28_180 }), new FleetFixture({ port: 28_190 })];
  let stores;

  before(async () => {
    stores = await startThrowawayStores(() => {});
    const { postgresUrl: DATABASE_URL, redisUrl: REDIS_URL, natsUrl: NATS_URL } = stores.urls;
    for (const { env } of [first, second]) Object.assign(env, { DATABASE_URL, REDIS_URL, NATS_URL });
    const started = await first.fleet('up', '--detach');
    assert.equal(started.status, 0, started.stdout + started.stderr);
  });
  after(async () => {
    await Promise.all([first.remove(), second.remove()]);
    await stores?.stop();
  });

  it('refuses the second, naming the first, and leaves the first alone', async () => {
    const refused = await second.fleet('up', '--detach');
    assert.equal(refused.status, 1);
    assert.match(refused.stdout, /belongs to another fleet \(fleet [\w-]+ of /);
    assert.ok(refused.stdout.includes(first.dir), refused.stdout);
    assert.equal((await second.fleet('reset', '--yes')).status, 0);
    assert.equal((await first.fleet('restart', 'identity')).status, 0);
    assert.equal((await first.fleet('status')).status, 0);
  });

  it('lets the second in after the first has been reset', async () => {
    assert.equal((await first.fleet('down')).status, 0);
    const reset = await first.fleet('reset', '--yes');
    assert.equal(reset.status, 0, reset.stderr);
    const started = await second.fleet('up', '--detach');
    assert.equal(started.status, 0, started.stdout + started.stderr);
  });

  it('keeps the folder when a server does not answer at reset', async () => {
    await second.fleet('down');
    await stores.stop();
    const refused = await second.fleet('reset', '--yes');
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /data on postgres at 127\.0\.0\.1:\d+ cannot be removed/);
  });
});
