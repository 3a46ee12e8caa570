import { randomUUID } from 'node:crypto';
import {
  FullPartnerAccessRequired,
  OrganizationAccessDenied,
  PartnerAccessDenied,
  SiteAccessDenied,
  type PartnerDirectory,
  type UserCaller,
} from '@rmm/access';
import { ValidationError } from '@rmm/service-kit';
import type { OrganizationsRepository } from '../organizations/organizations.repository.js';
import { assertMayChange, ScriptOwnersService } from './script-owners.service.js';

const [PARTNER, ORG] = [randomUUID(), randomUUID()];

const callerOf = (tenant: object, restrictions: object = {}): UserCaller =>
  ({
    tenant: { scope: 'partner', partnerId: PARTNER, orgId: null, orgAccess: 'all', orgIds: [], ...tenant },
    siteIds: null,
    deviceGroupIds: null,
    ...restrictions,
  }) as unknown as UserCaller;

const PARTNER_CALLER = callerOf({});
const SELECTED = callerOf({ orgAccess: 'selected', orgIds: [ORG] });
const MEMBER = callerOf({ scope: 'organization', orgId: ORG });
const SYSTEM = callerOf({ scope: 'system', partnerId: null });

describe('ScriptOwnersService', () => {
  const organizations = {
    getAccessible: (_: unknown, id: string) =>
      id === ORG ? Promise.resolve({ id, partnerId: PARTNER }) : Promise.reject(new OrganizationAccessDenied()),
  } as unknown as OrganizationsRepository;
  const partners = {
    find: (id: string) => Promise.resolve(id === PARTNER ? { partnerId: id } : null),
  } as unknown as PartnerDirectory;
  const owners = new ScriptOwnersService(organizations, partners);

  it('resolves an organization, which members need not name', async () => {
    const owner = { partnerId: PARTNER, orgId: ORG };
    expect(await owners.resolve(PARTNER_CALLER, { orgId: ORG })).toEqual(owner);
    expect(await owners.resolve(SELECTED, { orgId: ORG, availability: 'org' })).toEqual(owner);
    expect(await owners.resolve(MEMBER, {})).toEqual(owner);
    await expect(owners.resolve(PARTNER_CALLER, {})).rejects.toBeInstanceOf(ValidationError);
    await expect(owners.resolve(MEMBER, { orgId: randomUUID() })).rejects.toBeInstanceOf(OrganizationAccessDenied);
    await expect(owners.resolve(MEMBER, { partnerId: PARTNER })).rejects.toBeInstanceOf(ValidationError);
  });

  it('resolves a partner for callers with access to all its organizations', async () => {
    const owner = { partnerId: PARTNER, orgId: null };
    expect(await owners.resolve(PARTNER_CALLER, { availability: 'partner' })).toEqual(owner);
    expect(await owners.resolve(SYSTEM, { availability: 'partner', partnerId: PARTNER })).toEqual(owner);
    for (const caller of [SELECTED, MEMBER]) {
      await expect(owners.resolve(caller, { availability: 'partner' })).rejects.toBeInstanceOf(
        FullPartnerAccessRequired,
      );
    }
    const foreign = { availability: 'partner' as const, partnerId: randomUUID() };
    await expect(owners.resolve(PARTNER_CALLER, foreign)).rejects.toBeInstanceOf(PartnerAccessDenied);
    await expect(owners.resolve(SYSTEM, foreign)).rejects.toBeInstanceOf(PartnerAccessDenied);
    await expect(owners.resolve(SYSTEM, { availability: 'partner' })).rejects.toBeInstanceOf(ValidationError);
  });

  it('refuses members restricted to sites or groups', () => {
    for (const restriction of [{ siteIds: [] }, { deviceGroupIds: ['g'] }]) {
      const caller = callerOf({ scope: 'organization', orgId: ORG }, restriction);
      expect(() => assertMayChange(caller, ORG)).toThrow(SiteAccessDenied);
    }
    expect(() => assertMayChange(MEMBER, ORG)).not.toThrow();
  });
});
