import { randomUUID } from 'node:crypto';
import type { McpListAlertsRequest } from '@rmm/contracts';
import { eventually } from '@rmm/testing-services';
import { DispatcherTestCluster } from '../../test/dispatcher-test-cluster.js';
import type { Organization } from '../../test/organizations.js';
import { AlertsService } from './alerts.service.js';

describe('AlertsService', () => {
  let cluster: DispatcherTestCluster;
  let alerts: AlertsService;
  let own: Organization;

  const list = ({ orgId, partnerId }: Organization, before: number | null = null, limit = 10) => {
    const tenant = { scope: 'organization' as const, partnerId, orgId, orgAccess: 'none' as const, orgIds: [] };
    const caller: McpListAlertsRequest['caller'] = { kind: 'api_key', keyId: randomUUID(), tenant };
    return alerts.list({ caller, before, limit });
  };

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    alerts = (await cluster.start()).get(AlertsService);
    own = await cluster.organization();
  }, 120_000);
  afterAll(() => cluster?.close());

  it('lists the alert events of the organization, newest first, and nothing else', async () => {
    const other = await cluster.organization(own.partnerId);
    const first = await cluster.emit(own, 'alert.triggered', { data: { severity: 'high' } });
    await cluster.emit(own, 'device.online');
    await cluster.emit(other, 'alert.triggered');
    const second = await cluster.emit(own, 'alert.resolved', { data: { severity: 'low' } });
    const page = await list(own);
    expect(page.next).toBeNull();
    expect(page.alerts).toEqual([
      {
        id: second,
        type: 'alert.resolved',
        timestamp: expect.any(String),
        data: { severity: 'low' },
        truncated: false,
      },
      {
        id: first,
        type: 'alert.triggered',
        timestamp: expect.any(String),
        data: { severity: 'high' },
        truncated: false,
      },
    ]);
  });

  it('lists nothing for an organization without alerts', async () => {
    expect(await list(await cluster.organization())).toEqual({ alerts: [], next: null });
  });

  it('lists page after page', async () => {
    const organization = await cluster.organization();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.unshift(await cluster.emit(organization, 'alert.triggered'));
    const seen: string[] = [];
    let next: number | null = null;
    do {
      const page = await list(organization, next, 2);
      seen.push(...page.alerts.map(({ id }) => id));
      next = page.next;
    } while (next !== null);
    expect(seen).toEqual(ids);
  });

  it('leaves the data of a large event out', async () => {
    const organization = await cluster.organization();
    await cluster.emit(organization, 'alert.triggered', { data: { text: 'x'.repeat(17_000) } });
    expect((await list(organization)).alerts).toMatchObject([{ data: null, truncated: true }]);
  });

  it('leaves out events that name another partner and messages that are no events', async () => {
    const organization = await cluster.organization();
    const { orgId } = organization;
    await cluster.publisher.jetstream().publish(`rmm.events.${orgId}.alert.triggered`, 'not an event');
    const forged = { id: randomUUID(), type: 'alert.triggered', timestamp: new Date().toISOString(), orgId, data: {} };
    const text = JSON.stringify({ ...forged, partnerId: randomUUID() });
    await cluster.publisher.jetstream().publish(`rmm.events.${orgId}.alert.triggered`, text);
    const id = await cluster.emit(organization, 'alert.triggered');
    await eventually(async () => expect((await list(organization)).alerts.map((alert) => alert.id)).toEqual([id]));
  });
});
