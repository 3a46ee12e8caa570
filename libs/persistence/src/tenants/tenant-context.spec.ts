import { randomUUID } from 'node:crypto';
import { as, noTenant, organization, partner, platform, selected } from '../../test/persistence-test-database.js';
import { restrictToOrganization, tenantSettingValues } from './tenant-context.js';

const [partnerId, orgId, otherId] = [randomUUID(), randomUUID(), randomUUID()];
const orgIdsOf = (ids: string[], named: string) =>
  restrictToOrganization(selected(partnerId, ids), named).tenant.orgIds;

describe('restrictToOrganization', () => {
  it('leaves the named organization of a selection, whatever the case of the ids', () => {
    expect(orgIdsOf([otherId, orgId], orgId)).toEqual([orgId]);
    expect(orgIdsOf([otherId, orgId], orgId.toUpperCase())).toEqual([orgId]);
    expect(orgIdsOf([orgId.toUpperCase()], orgId)).toEqual([orgId.toUpperCase()]);
  });

  it('leaves none when the named organization is not selected', () => {
    expect(orgIdsOf([otherId], orgId)).toEqual([]);
    expect(orgIdsOf([], orgId)).toEqual([]);
  });

  it('keeps the rest of the caller and does not change the one it was given', () => {
    const caller = { ...selected(partnerId, [otherId, orgId]), siteIds: ['s'] };
    const restricted = restrictToOrganization(caller, orgId);
    expect(restricted).toEqual({ ...caller, tenant: { ...caller.tenant, orgIds: [orgId] } });
    expect(caller.tenant.orgIds).toEqual([otherId, orgId]);
  });

  it.each([
    ['of the platform', platform],
    ['with all organizations of a partner', partner(partnerId)],
    ['with no organization of a partner', as({ scope: 'partner', partnerId })],
    ['of another organization', organization(partnerId, otherId)],
    ['without a tenant', noTenant],
  ])('gives a caller %s no other access', (_who, caller) => {
    expect(restrictToOrganization(caller, orgId)).toBe(caller);
  });
});

describe('tenantSettingValues', () => {
  it('gives the digits of the selected organizations in lower case', () => {
    expect(tenantSettingValues(selected(partnerId, [orgId.toUpperCase(), otherId]).tenant)).toEqual([
      `partner,${partnerId},,selected,`,
      `${orgId},${otherId}`.replaceAll('-', ''),
    ]);
  });

  it.each(['partnerId', 'orgId', 'userId'])(
    'refuses a separator in %s, which would move the values after it',
    (name) => {
      const { tenant } = as({ ...partner(partnerId).tenant, [name]: `${orgId},${otherId}` });
      expect(() => tenantSettingValues(tenant)).toThrow('contains a separator');
    },
  );

  it.each(['', 'all', `${orgId},${otherId}`, `${orgId}'`, `{${orgId.slice(2)}}`, `,${orgId.slice(1)}`, ' '.repeat(36)])(
    'refuses the selected organization %j',
    (malformed) => {
      const { tenant } = selected(partnerId, [orgId, malformed]);
      expect(() => tenantSettingValues(tenant)).toThrow('is not a UUID');
    },
  );
});
