import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { UserCaller } from '@rmm/access';
import { bindParameters, Cursors, keysetPage, type SqlStatement, type TenantContext } from '@rmm/persistence';
import { minuteOf } from '../../test/audit-rows.js';
import { IdentityTestApp } from '../../test/identity-test-app.js';
import { auditSearch } from './audit-entries.repository.js';
import type { AuditFiltersDto } from './dto/audit-filters.dto.js';

const ROWS = 50_000;
/** The rows of a page and the one after it, each among at most five: every fourth is of the selected organization. */
const FEW = 51 * 5;

interface Node {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Node[];
}

describe('auditSearch', () => {
  let testApp: IdentityTestApp;
  let client: pg.Client;
  const [partnerId, orgId, userId] = [randomUUID(), randomUUID(), randomUUID()];

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    await (await testApp.startReplica()).stop();
    // Every fourth row is of the organization; rare rows are at the far end; other rows are newer and older.
    await testApp.query(
      `insert into audit_entry (id, sequence, partner_id, org_id, timestamp, actor_type, actor_id, action, resource_type,
         resource_id, result, canonical, checksum, previous_checksum)
       select gen_random_uuid(), n, case when n % 5 = 0 then gen_random_uuid() else $1::uuid end,
         case when n % 4 = 1 then $2::uuid end, $3::timestamptz + n * interval '1 second', 'user',
         case when n < 12 then 'rare' else 'actor-' || n % 10 end,
         case when n < 12 then 'rare_thing.make' else 'thing.make_' || n % 20 end, 'thing',
         case when n < 12 then 'rare' else 'thing-' || n end, 'success', '', '', ''
       from generate_series(1, $4::integer) n`,
      [partnerId, orgId, minuteOf(0), ROWS],
    );
    await testApp.query('analyze audit_entry');
    client = new pg.Client({
      connectionString: testApp.database.urls.identity.service,
      options: '-c search_path=identity',
    });
    await client.connect();
  }, 120_000);
  afterAll(async () => {
    await client.end();
    await testApp.stop();
  });

  const partner: TenantContext = { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId };
  const selected: TenantContext = { ...partner, orgAccess: 'selected', orgIds: [orgId] };
  const organization: TenantContext = { ...partner, scope: 'organization', orgId };

  const settingsOf = (tenant: TenantContext) => [
    ['rmm.scope', tenant.scope],
    ['rmm.partner_id', tenant.partnerId],
    ['rmm.org_id', tenant.orgId ?? ''],
    ['rmm.org_access', tenant.orgAccess],
    ['rmm.org_ids', tenant.orgIds.map((id) => id.replaceAll('-', '')).join(',')],
    ['rmm.user_id', tenant.userId],
  ];

  /** The most rows that a step of the plan looked at. */
  const lookedAt = (node: Node): number => {
    const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    return Math.max((node['Actual Rows'] + removed) * node['Actual Loops'], ...(node.Plans ?? []).map(lookedAt));
  };
  const explained = async (tenant: TenantContext, filters: AuditFiltersDto, direction: 'asc' | 'desc') => {
    const caller = { tenant } as UserCaller;
    const plans: Node[] = [];
    const executor = {
      queryAll: async ([{ sql, params }]: readonly SqlStatement[]) => {
        const { text, values } = bindParameters(sql, params);
        await client.query('begin');
        for (const [name, value] of settingsOf(tenant))
          await client.query('select set_config($1, $2, true)', [name, value]);
        const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
          `explain (analyze, format json) ${text}`,
          values,
        );
        await client.query('commit');
        plans.push(rows[0]['QUERY PLAN'][0].Plan);
        return [];
      },
    };
    const query = { ...auditSearch(caller, filters), direction, limit: 50 };
    await keysetPage(executor, new Cursors('x'.repeat(32)), { caller, list: 'spec', filters: {} }, query);
    return plans[0];
  };

  const time = { from: new Date(minuteOf(400)), to: new Date(minuteOf(401)) };
  it.each<[string, TenantContext, AuditFiltersDto]>([
    ['of a partner', partner, {}],
    ['of selected organizations', selected, {}],
    ['of an organization', organization, {}],
    ['of one organization of a partner', partner, { orgId }],
    ['for an action', partner, { action: 'rare_thing.make' }],
    ['for a kind of actions', partner, { action: 'rare_thing.*' }],
    ['for a kind that most rows have', partner, { action: 'thing.*' }],
    ['for an actor', partner, { actorId: 'rare' }],
    ['for a resource', partner, { resourceId: 'rare' }],
    ['for a minute', partner, time],
    ['for an action in a minute', partner, { ...time, action: 'thing.make_7' }],
  ])('%s reads only the rows of the page and those before the next match', async (_, tenant, filters) => {
    for (const direction of ['asc', 'desc'] as const) {
      expect(lookedAt(await explained(tenant, filters, direction))).toBeLessThanOrEqual(FEW);
    }
  });
});
