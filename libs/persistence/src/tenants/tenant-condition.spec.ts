import { randomUUID } from 'node:crypto';
import { selected } from '../../test/persistence-test-database.js';
import { ownerCondition, tenantCondition, type RowOwnership } from './tenant-condition.js';
import { encodeIds } from './tenant-context.js';

const partnerId = randomUUID();
const ids = (count: number) => Array.from({ length: count }, () => randomUUID());
const conditionOf = (orgIds: string[], ownership: RowOwnership = 'organization') =>
  tenantCondition(selected(partnerId, orgIds), ownership, 'd');

describe('the condition of selected organizations', () => {
  it('compares with a single one', () => {
    const [orgId] = ids(1);
    expect(conditionOf([orgId])).toEqual({
      sql: '(d.partner_id = :tenantPartnerId AND d.org_id = :tenantOrgId)',
      params: { tenantPartnerId: partnerId, tenantOrgId: orgId },
    });
  });

  it.each([0, 2, 100])('passes %i as an array', (count) => {
    const orgIds = ids(count);
    expect(conditionOf(orgIds)).toEqual({
      sql: '(d.partner_id = :tenantPartnerId AND d.org_id = ANY(:tenantOrgIds))',
      params: { tenantPartnerId: partnerId, tenantOrgIds: orgIds },
    });
  });

  it.each([101, 1_000])('filters by a hash table of %i', (count) => {
    const orgIds = ids(count);
    expect(conditionOf(orgIds)).toEqual({
      sql: '(d.partner_id = :tenantPartnerId AND (d.org_id IN (SELECT unnest(:tenantOrgIds::uuid[]))) IS TRUE)',
      params: { tenantPartnerId: partnerId, tenantOrgIds: encodeIds(orgIds).parameter },
    });
  });

  it('counts the rows of many by the index of each, with the parameters of the page', () => {
    const { tenant } = selected(partnerId, ids(101));
    const columns = { partnerId: 'd.partner_id', orgId: 'd.org_id', userId: 'd.user_id' };
    const page = ownerCondition('organization', tenant, columns, 'page');
    const count = ownerCondition('organization', tenant, columns, 'count');
    expect(count?.sql).toBe('d.partner_id = :tenantPartnerId AND d.org_id = ANY(:tenantOrgIds::uuid[])');
    expect(count?.params).toEqual(page?.params);
  });

  it.each([1, 100, 101])('admits rows of the partner as a whole in addition to those of %i', (count) => {
    const { sql } = conditionOf(ids(count), 'dual');
    expect(sql).toMatch(/^\(d\.partner_id = :tenantPartnerId AND \(d\.org_id IS NULL OR .+\)\)$/);
  });
});
