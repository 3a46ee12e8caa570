import { setTimeout as sleep } from 'node:timers/promises';
import { connectToFleet, eventually, readFleetStatus, signInAdmin, type ApiClient } from '@rmm/testing';
import { must } from '../steps.js';
import {
  buildTenant,
  callsOf,
  listAcceptedAfter,
  query,
  untilAllAccepted,
  type Tenant,
} from '../tenancy/tenant-state.js';
import { killService, untilReady } from './killing.js';
import { refuseStreamMessages } from './stream-limits.js';

jest.setTimeout(600_000);

/** A change of access takes effect at the latest after this time, or the service refuses. */
const BOUND_MS = 30_000;

describe('tenant directories during outages', () => {
  const fleet = connectToFleet();
  let admin: ApiClient;
  let tenant: Tenant;

  beforeAll(async () => {
    admin = await signInAdmin(fleet);
  });
  beforeEach(async () => {
    tenant = await buildTenant(fleet);
    await untilAllAccepted(callsOf(fleet, tenant));
  });
  afterEach(() => untilReady());

  const suspend = async () =>
    must(await admin.patch(`/orgs/partners/${tenant.partnerId}`, { status: 'suspended' }), 200);

  it('heal after credentials and provisioning were restored from a backup of yesterday', async () => {
    await suspend();
    const statusIn = async (schema: string) => {
      const sql = `SELECT status FROM ${schema}.partner_directory WHERE partner_id = $1`;
      return (await query<{ status: string }>(fleet, sql, [tenant.partnerId]))[0]?.status;
    };
    for (const schema of ['credentials', 'provisioning']) {
      await eventually(async () => expect(await statusIn(schema)).toBe('suspended'));
      await query(
        fleet,
        `UPDATE ${schema}.partner_directory SET status = 'active', version = 1, updated_at = now() - interval '1 day'
         WHERE partner_id = $1`,
        [tenant.partnerId],
      );
      for (const replica of [0, 1]) await killService(schema, replica);
      await untilReady();
      await eventually(async () => expect(await statusIn(schema)).toBe('suspended'));
    }
    const calls = callsOf(await readFleetStatus(), tenant);
    expect(await listAcceptedAfter(calls, 1_000)).toEqual([]);
  });

  it('fill again after the tables were emptied', async () => {
    // As replica, so that the foreign keys of other rows do not keep the rows that a damaged table has lost.
    await query(
      fleet,
      `SET session_replication_role = replica;
       DELETE FROM credentials.partner_directory; DELETE FROM credentials.organization_directory`,
    );
    for (const replica of [0, 1]) await killService('credentials', replica);
    await untilReady();
    await untilAllAccepted(callsOf(await readFleetStatus(), tenant));
    await eventually(async () => {
      const sql = `SELECT (SELECT count(*) FROM identity.partner)::int AS owned,
        (SELECT count(*) FROM credentials.partner_directory)::int AS known`;
      const [{ owned, known }] = await query<{ owned: number; known: number }>(fleet, sql);
      expect(known).toBe(owned);
    });
  });

  it('follow a suspension at once while JetStream refuses every message, and requests go on', async () => {
    const other = await buildTenant(fleet);
    const others = callsOf(fleet, other);
    await untilAllAccepted(others);
    const restore = await refuseStreamMessages(fleet);
    try {
      const calls = callsOf(fleet, tenant);
      await suspend();
      expect(await listAcceptedAfter(calls, 1_000)).toEqual([]);
      const endsAt = performance.now() + BOUND_MS + 10_000;
      while (performance.now() < endsAt) {
        for (const call of others) expect([call.name, await call.status()]).toEqual([call.name, 200]);
        await sleep(1_000);
      }
    } finally {
      await restore();
    }
    await eventually(
      async () => {
        const sql = 'SELECT count(*)::int AS count FROM identity.outbox';
        expect((await query<{ count: number }>(fleet, sql))[0].count).toBe(0);
      },
      { timeoutMs: 180_000 },
    );
  });

  it('refuse within 30 seconds of a change whose broadcast is not sent', async () => {
    const calls = callsOf(fleet, tenant).filter(({ name }) => name.startsWith('user at provisioning'));
    const startedMs = performance.now();
    await query(
      fleet,
      `INSERT INTO identity.outbox_broadcast (subject, payload, leased_until)
       VALUES ('rmm.broadcast.access.changed', '{}', now() + interval '1 hour')`,
    );
    try {
      for (const call of calls)
        await eventually(async () => expect(await call.status()).toBe(503), { timeoutMs: 40_000 });
      expect(performance.now() - startedMs).toBeLessThan(BOUND_MS);
    } finally {
      await query(fleet, 'DELETE FROM identity.outbox_broadcast');
    }
    for (const call of calls) await eventually(async () => expect(await call.status()).toBe(200));
  });
});
