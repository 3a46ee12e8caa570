import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { SiteAccessDenied } from '@rmm/access';
import { NotFoundError, RateLimitedError, UnavailableError } from '@rmm/service-kit';
import { organizationCaller, partnerCaller } from '../../test/callers.js';
import { buildConfig, FakeLimits, fakeTenants, FakeAudit } from '../../test/fakes.js';
import type { MemberScopeService } from '../members/member-scope.service.js';
import type { SsoDomain } from './sso-domain.entity.js';
import type { SsoDomainsRepository } from './sso-domains.repository.js';
import { SsoDomainsService } from './sso-domains.service.js';
import type { SsoProvidersRepository } from './sso-providers.repository.js';
import { DomainNotVerified, DomainTaken, OrganizationContextRequired, TooManySsoDomains } from './sso.errors.js';

describe('SsoDomainsService', () => {
  const [partnerId, orgId] = [randomUUID(), randomUUID()];
  let caller = organizationCaller(partnerId, orgId);
  let rows: SsoDomain[];
  let count: number;
  let provenBy: string | null;
  let markError: Error | undefined;
  let resolveTxt: (name: string) => Promise<string[]>;
  let limits: FakeLimits;
  let audit: FakeAudit;

  beforeEach(() => {
    caller = organizationCaller(partnerId, orgId);
    [rows, count, provenBy, markError] = [[], 0, null, undefined];
    resolveTxt = () => Promise.resolve([]);
    [limits, audit] = [new FakeLimits(), new FakeAudit()];
  });

  const get = (id: string): Promise<SsoDomain> => {
    const row = rows.find((each) => each.id === id);
    return row ? Promise.resolve(row) : Promise.reject(new NotFoundError('SSO domain'));
  };
  const start = () =>
    new SsoDomainsService(
      fakeTenants,
      {
        list: () => Promise.resolve({ rows, total: rows.length }),
        get: (_: unknown, id: string) => get(id),
        countOf: () => Promise.resolve(count),
        lockOrganization: () => Promise.resolve(),
        create: (_: unknown, values: Omit<SsoDomain, 'id' | 'createdAt' | 'verifiedAt'>) => {
          const found = rows.find(({ domain }) => domain === values.domain);
          const row = found ?? { ...values, id: randomUUID(), verifiedAt: null, createdAt: new Date() };
          if (!found) rows.push(row);
          return Promise.resolve({ row, isNew: !found });
        },
        markVerified: async (_: unknown, id: string) => {
          if (markError) throw markError;
          return Object.assign(await get(id), { verifiedAt: new Date() });
        },
        remove: (_: unknown, id: string) => Promise.resolve(void (rows = rows.filter((row) => row.id !== id))),
      } as unknown as SsoDomainsRepository,
      { findDomainOwner: () => Promise.resolve(provenBy) } as unknown as SsoProvidersRepository,
      {
        resolve: (_: unknown, { orgId: asked }: { orgId?: string }) =>
          Promise.resolve({ kind: 'organization', partnerId, orgId: asked ?? orgId }),
      } as unknown as MemberScopeService,
      { resolveTxt: (name: string) => resolveTxt(name) },
      limits.asLimits,
      audit.asTrail,
      buildConfig(),
    );
  const claim = (domain = 'acme.test') => start().create(caller, { domain, orgId });

  it('names the record that proves a domain, and the same one when it is claimed again', async () => {
    const created = await claim();
    expect(created).toMatchObject({ orgId, domain: 'acme.test', txtRecordName: '_sso-verification.acme.test' });
    expect(created.txtRecordValue).toMatch(/^sso-domain-verification=[A-Za-z0-9_-]{43,}$/);
    expect(created.verifiedAt).toBeNull();
    expect(await claim()).toEqual(created);
    expect(audit.actions).toEqual(['sso.domain.create']);
    const page = await start().list(caller, { page: 1, limit: 10 });
    expect(page.data).toEqual([created]);
  });

  it('needs an organization of callers that are not in one', async () => {
    const partner = partnerCaller(partnerId);
    await expect(start().list(partner, { page: 1, limit: 10 })).rejects.toThrow(OrganizationContextRequired);
  });

  it('refuses a domain that another organization has proven, not one of its own', async () => {
    provenBy = randomUUID();
    await expect(claim()).rejects.toThrow(DomainTaken);
    provenBy = orgId;
    expect(await claim()).toMatchObject({ domain: 'acme.test' });
  });

  it('stops at 50 domains', async () => {
    count = 49;
    await claim('last.test');
    count = 50;
    await expect(claim('more.test')).rejects.toThrow(TooManySsoDomains);
    expect(rows).toHaveLength(1);
  });

  describe('verify', () => {
    it('proves a domain by its record among others, once', async () => {
      const { id, txtRecordValue } = await claim();
      const asked: string[] = [];
      resolveTxt = (name) => (asked.push(name), Promise.resolve(['v=spf1 -all', ` ${txtRecordValue} `]));
      expect((await start().verify(caller, id)).verifiedAt).not.toBeNull();
      expect((await start().verify(caller, id)).verifiedAt).not.toBeNull();
      expect(asked).toEqual(['_sso-verification.acme.test']);
      expect(audit.actions).toEqual(['sso.domain.create', 'sso.domain.verify']);
    });

    it('audits a record that is missing, and proves nothing', async () => {
      const { id, txtRecordValue } = await claim();
      resolveTxt = () => Promise.resolve([`${txtRecordValue}x`, txtRecordValue.slice(1)]);
      await expect(start().verify(caller, id)).rejects.toThrow(DomainNotVerified);
      expect(audit.entries.at(-1)).toMatchObject({ action: 'sso.domain.verify', result: 'failure' });
      expect(rows[0]?.verifiedAt).toBeNull();
    });

    it('says that a failing name server is unavailable, not that the record is missing', async () => {
      const { id } = await claim();
      resolveTxt = () => Promise.reject(new Error('SERVFAIL'));
      await expect(start().verify(caller, id)).rejects.toThrow(UnavailableError);
    });

    it('says that the domain is taken when another organization proves it at the same time', async () => {
      const { id, txtRecordValue } = await claim();
      resolveTxt = () => Promise.resolve([txtRecordValue]);
      const conflict = { code: '23505', constraint: 'sso_domain_verified_key' };
      markError = Object.assign(new pg.DatabaseError('duplicate key', 0, 'error'), conflict);
      await expect(start().verify(caller, id)).rejects.toThrow(DomainTaken);
      markError = new Error('another failure');
      await expect(start().verify(caller, id)).rejects.toThrow('another failure');
    });

    it('is limited for each user, before a name server is asked', async () => {
      const { id } = await claim();
      limits.exhausted = 'ssoProviderTest';
      resolveTxt = () => Promise.reject(new Error('a name server was asked'));
      await expect(start().verify(caller, id)).rejects.toThrow(RateLimitedError);
      expect(limits.hits).toEqual([`ssoProviderTest ${caller.userId}`]);
    });
  });

  it('removes a domain and audits whether it was proven', async () => {
    const { id } = await claim();
    await start().remove(caller, id);
    expect(rows).toEqual([]);
    expect(audit.entries.at(-1)).toMatchObject({ action: 'sso.domain.delete', details: { verified: false } });
    await expect(start().remove(caller, id)).rejects.toThrow(NotFoundError);
  });

  it('lets a caller who is restricted to sites change nothing', async () => {
    const { id } = await claim();
    caller = { ...caller, siteIds: [randomUUID()] };
    await expect(claim('other.test')).rejects.toThrow(SiteAccessDenied);
    await expect(start().verify(caller, id)).rejects.toThrow(SiteAccessDenied);
    await expect(start().remove(caller, id)).rejects.toThrow(SiteAccessDenied);
    expect(rows).toHaveLength(1);
  });
});
