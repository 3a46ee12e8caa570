import { connectToFleet, eventually, signInAdmin, type ApiClient } from '@rmm/testing';
import { must, sumMetric } from '../steps.js';
import {
  buildTenant,
  callsOf,
  listAcceptedAfter,
  publishPartnerEvent,
  query,
  untilAllAccepted,
  type Tenant,
} from './tenant-state.js';

describe('a partner that is suspended', () => {
  const fleet = connectToFleet();
  let admin: ApiClient;
  let tenant: Tenant;

  beforeAll(async () => {
    admin = await signInAdmin(fleet);
  });
  beforeEach(async () => {
    tenant = await buildTenant(fleet);
  });

  const setStatus = async (status: string) =>
    must(await admin.patch(`/orgs/partners/${tenant.partnerId}`, { status }), 200);

  /** Suspends the partner and expects that every replica of every service refuses its users and keys. */
  async function expectRefusedWithinASecond(): Promise<void> {
    const calls = callsOf(fleet, tenant);
    await untilAllAccepted(calls);
    await setStatus('suspended');
    expect(await listAcceptedAfter(calls, 1_000)).toEqual([]);
  }

  it.each(['x', 1.5, 0, true, {}, 2_147_483_648])('cannot store maxTtlMinutes %j', async (maxTtlMinutes) => {
    const response = await tenant.client.patch('/orgs/partners/me', { settings: { enrollment: { maxTtlMinutes } } });
    expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
    expect(Object.keys(response.body.details.fieldErrors)).toEqual(['settings.enrollment.maxTtlMinutes']);
  });

  it('cannot grow its settings beyond 64 KB in many requests', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const settings = { [`k${n}`]: 'x'.repeat(20_000) };
      statuses.push((await tenant.client.patch('/orgs/partners/me', { settings })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 400, 400]);
    const { settings } = must(await tenant.client.get('/orgs/partners/me'), 200);
    expect(JSON.stringify(settings).length).toBeLessThanOrEqual(65_536);
  });

  it('is refused everywhere within a second', () => expectRefusedWithinASecond());

  it('is refused everywhere within a second although an event had a malformed cap', async () => {
    const { version } = await currentVersion();
    await publishPartnerEvent(fleet, tenant.partnerId, {
      partnerId: tenant.partnerId,
      name: 'P',
      slug: 'p',
      status: 'active',
      maxOrganizations: 'many',
      maxDevices: null,
      timezone: 'UTC',
      settings: { enrollment: { maxTtlMinutes: 'x' } },
      version: version + 1,
    });
    await eventually(async () => expect(await stored()).toEqual({ status: 'active', ttl: 1 }));
    must(await admin.patch(`/orgs/partners/${tenant.partnerId}`, { name: 'Renamed' }), 200);
    await expectRefusedWithinASecond();
    await eventually(async () => expect(await stored()).toEqual({ status: 'suspended', ttl: null }));
  });

  it('is refused everywhere within a second although an event had an unreadable status', async () => {
    const { version } = await currentVersion();
    const countUnreadable = () => sumMetric(fleet, 'credentials', 'rmm_directory_unreadable_total');
    const before = await countUnreadable();
    await publishPartnerEvent(fleet, tenant.partnerId, {
      partnerId: tenant.partnerId,
      status: { toString: 'active' },
      version: version + 1,
    });
    await eventually(async () => expect(await countUnreadable()).toBeGreaterThan(before));
    await expectRefusedWithinASecond();
  });

  const currentVersion = async () => {
    const sql = 'SELECT version::int AS version FROM identity.partner WHERE id = $1';
    return (await query<{ version: number }>(fleet, sql, [tenant.partnerId]))[0];
  };
  const stored = async () => {
    const sql = `SELECT status, enrollment_max_ttl_minutes AS ttl FROM credentials.partner_directory WHERE partner_id = $1`;
    return (await query<{ status: string; ttl: number | null }>(fleet, sql, [tenant.partnerId]))[0];
  };

  it('loses no access when another tenant edits its roles', async () => {
    const other = await buildTenant(fleet);
    const calls = callsOf(fleet, other);
    await untilAllAccepted(calls);
    const pairs = [{ resource: 'devices', action: 'read' }];
    const role = must(await tenant.client.post('/roles', { name: 'Editors', permissions: pairs }), 201);
    for (let n = 0; n < 5; n += 1) {
      must(await tenant.client.patch(`/roles/${role.id}`, { description: `edit ${n}` }), 200);
      for (const call of calls) expect([call.name, await call.status()]).toEqual([call.name, 200]);
    }
  });
});
