import { randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { ApiKeysRepository } from '../api-keys/api-keys.repository.js';
import { EnrollmentKeysRepository } from '../enrollment-keys/enrollment-keys.repository.js';
import { PartnerKeysRepository } from '../partner-principals/partner-keys.repository.js';
import { PartnerPrincipalsRepository } from '../partner-principals/partner-principals.repository.js';
import { ServicePrincipalsRepository } from '../service-principals/service-principals.repository.js';
import { KeyLimitExceeded } from './key-limit.errors.js';
import { KeyLimitsRepository, type LimitedKind } from './key-limits.repository.js';

describe('KeyLimitsRepository', () => {
  let opened: CredentialsTestDatabase;
  let admin: pg.Client;
  let limits: KeyLimitsRepository;

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    limits = new KeyLimitsRepository();
    admin = new pg.Client({ connectionString: opened.database.adminUrl, options: '-c search_path=credentials' });
    await admin.connect();
  });
  afterAll(async () => {
    await admin.end();
    await opened.stop();
  });

  /** Creates a partner with an organization and a partner principal. */
  async function createOwners() {
    const partnerId = randomUUID();
    const orgId = await opened.createOrganization(partnerId);
    const caller = buildPartnerCaller(partnerId);
    const { id: principalId } = await opened.tenants.transaction(caller, (tx) =>
      new PartnerPrincipalsRepository(opened.tenants).create(tx, principalOf(partnerId)),
    );
    return { partnerId, orgId, caller, principalId };
  }
  type Owners = Awaited<ReturnType<typeof createOwners>>;

  const principalOf = (partnerId: string) => {
    const principal = { partnerId, name: randomUUID(), description: null, scopes: [], expiresAt: null };
    return { ...principal, sourceCidrs: [], createdBy: null };
  };
  const secret = () => ({ keyPrefix: 'svc_12345678', keyHash: randomBytes(32), name: 'k' });

  /** Creates one more after checking the limit, in one transaction. */
  const create = (kind: LimitedKind, { caller, partnerId, orgId, principalId }: Owners) =>
    opened.tenants.transaction(caller, async (tx) => {
      const { tenants } = opened;
      const ownerId = kind === 'partnerKey' ? principalId : kind === 'partnerPrincipal' ? partnerId : orgId;
      await limits.assertBelowLimit(tx, kind, ownerId);
      const owner = { partnerId, orgId };
      const expiresAt = new Date(Date.now() + 60_000);
      switch (kind) {
        case 'apiKey':
          return new ApiKeysRepository(tenants).create(tx, { ...owner, ...secret(), scopes: [], rateLimit: 1 });
        case 'enrollmentKey': {
          const key = { ...owner, ...secret(), siteId: null, maxUsage: 1, expiresAt, createdBy: null };
          return new EnrollmentKeysRepository(tenants).create(tx, key);
        }
        case 'servicePrincipal': {
          const principal = { ...owner, name: 'p', scopes: [], createdBy: null };
          return new ServicePrincipalsRepository(tenants).create(tx, principal);
        }
        case 'partnerPrincipal':
          return new PartnerPrincipalsRepository(tenants).create(tx, principalOf(partnerId));
        case 'partnerKey': {
          const key = { principalId, partnerId, ...secret(), expiresAt, rateLimit: 1, createdBy: null };
          return new PartnerKeysRepository(tenants).create(tx, key);
        }
      }
    });

  const FILL: Record<LimitedKind, { max: number; sql: string }> = {
    apiKey: {
      max: 200,
      sql: `INSERT INTO api_key (partner_id, org_id, name, key_prefix, key_hash, scopes, rate_limit)
            SELECT $1, $2, 'k', 'svc_', decode(md5($3 || n::text), 'hex'), '{}', 1 FROM generate_series(1, $4) n`,
    },
    enrollmentKey: {
      max: 1_000,
      sql: `INSERT INTO enrollment_key (partner_id, org_id, name, key_hash, expires_at)
            SELECT $1, $2, 'k', decode(md5($3 || n::text), 'hex'), now() FROM generate_series(1, $4) n`,
    },
    servicePrincipal: {
      max: 100,
      sql: `INSERT INTO service_principal (partner_id, org_id, name, scopes)
            SELECT $1, $2, $3::text, '{}' FROM generate_series(1, $4)`,
    },
    partnerPrincipal: {
      max: 99, // the partner has one already
      sql: `INSERT INTO partner_principal (partner_id, name, scopes)
            SELECT $1, $2::text || $3::text || n::text, '{}' FROM generate_series(1, $4) n`,
    },
    partnerKey: {
      max: 20,
      sql: `INSERT INTO partner_principal_key (principal_id, partner_id, name, key_prefix, key_hash, rate_limit)
            SELECT $3::uuid, $1, $2::text, 'svc_', decode(md5($3::text || n::text), 'hex'), 1 FROM generate_series(1, $4) n`,
    },
  };
  const KINDS = Object.keys(FILL) as LimitedKind[];

  it.each(KINDS)('lets exactly as many of 20 concurrent transactions create a %s as are left', async (kind) => {
    const owners = await createOwners();
    const { max, sql } = FILL[kind];
    await admin.query(sql, [owners.partnerId, owners.orgId, owners.principalId, max - 7]);
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => create(kind, owners)));
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    expect(refused).toHaveLength(13);
    for (const error of refused) expect(error).toBeInstanceOf(KeyLimitExceeded);
    expect(refused[0]).toMatchObject({ status: 409, code: 'key_limit_reached' });
  });

  it('counts each owner for itself, and no revoked or expired API keys', async () => {
    const [full, other] = [await createOwners(), await createOwners()];
    await admin.query(FILL.apiKey.sql, [full.partnerId, full.orgId, full.principalId, 200]);
    await expect(create('apiKey', full)).rejects.toThrow(KeyLimitExceeded);
    await expect(create('apiKey', other)).resolves.toBeDefined();
    await admin.query(
      `UPDATE api_key SET status = 'revoked' WHERE id = (SELECT id FROM api_key WHERE org_id = $1 LIMIT 1)`,
      [full.orgId],
    );
    await expect(create('apiKey', full)).resolves.toBeDefined();
    await admin.query(
      `UPDATE api_key SET expires_at = now() WHERE id = (SELECT id FROM api_key WHERE org_id = $1 AND status = 'active' LIMIT 1)`,
      [full.orgId],
    );
    await expect(create('apiKey', full)).resolves.toBeDefined();
  });
});
