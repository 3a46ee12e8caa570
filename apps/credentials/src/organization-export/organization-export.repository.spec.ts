import { randomBytes, randomUUID } from 'node:crypto';
import { EXPORT_READ_LIMIT } from '@rmm/access';
import type { CredentialsExportRequest } from '@rmm/contracts';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { OrganizationExportRepository } from './organization-export.repository.js';

type Resource = CredentialsExportRequest['resource'];
const RESOURCES: Resource[] = ['api_key', 'service_principal', 'enrollment_key'];

describe('OrganizationExportRepository', () => {
  let opened: CredentialsTestDatabase;
  let repository: OrganizationExportRepository;
  const partnerId = randomUUID();
  const caller = buildPartnerCaller(partnerId);
  const hash = randomBytes(32);
  let orgId: string;

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    repository = new OrganizationExportRepository(opened.tenants);
    orgId = await createOrganization(hash);
    await createOrganization(randomBytes(32));
  }, 120_000);
  afterAll(() => opened?.stop());

  /** Creates an organization with one row of each table. */
  const createOrganization = async (keyHash: Buffer) => {
    const id = await opened.createOrganization(partnerId);
    const owner = { partnerId, id, keyHash };
    await opened.tenants.transaction(caller, async (tx) => {
      await tx.query(
        `INSERT INTO api_key (partner_id, org_id, name, key_prefix, key_hash, scopes, rate_limit)
         VALUES (:partnerId, :id, 'Key', 'svc_12345678', :keyHash, '{devices:read}', 5)`,
        owner,
      );
      await tx.query(
        `INSERT INTO service_principal (partner_id, org_id, name, scopes) VALUES (:partnerId, :id, 'Relay', '{}')`,
        { partnerId, id },
      );
      await tx.query(
        `INSERT INTO enrollment_key (partner_id, org_id, name, key_hash, expires_at)
         VALUES (:partnerId, :id, 'Rollout', :keyHash, now())`,
        owner,
      );
    });
    return id;
  };
  const callerOf = (changes: object = {}) =>
    ({
      ...{ kind: 'user', userId: randomUUID(), sessionId: randomUUID() },
      tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], ...changes },
    }) as unknown as CredentialsExportRequest['caller'];
  const list = (resource: Resource, by = callerOf(), after: string | null = null) =>
    repository.list({ caller: by, orgId, partnerId, resource, after });

  it.each(RESOURCES)('returns each %s of the organization, to callers with access to it only', async (resource) => {
    const rows = await list(resource);
    expect(rows).toHaveLength(1);
    const member = (id: string) => callerOf({ scope: 'organization', orgId: id, orgAccess: 'none' });
    expect(await list(resource, member(orgId))).toEqual(rows);
    expect(await list(resource, member(randomUUID()))).toEqual([]);
    expect(await list(resource, callerOf({ partnerId: randomUUID() }))).toEqual([]);
    expect(await list(resource, callerOf({ orgAccess: 'selected', orgIds: [randomUUID()] }))).toEqual([]);
    const foreign = { caller: callerOf(), orgId, partnerId: randomUUID(), resource, after: null };
    expect(await repository.list(foreign)).toEqual([]);
  });

  it('returns no hash of a key', async () => {
    const rows = (await Promise.all(RESOURCES.map((resource) => list(resource)))).flat();
    const fields = rows.flatMap((row) => Object.keys(row));
    expect(fields).toContain('keyPrefix');
    expect(fields.filter((field) => /hash|secret/i.test(field))).toEqual([]);
    expect(JSON.stringify(rows)).not.toContain(JSON.stringify(hash));
  });

  it('returns pages in the order of ids, also of a deleted organization', async () => {
    await opened.worker.query(`UPDATE organization_directory SET deleted = true WHERE org_id = :orgId`, { orgId });
    await opened.tenants.transaction(caller, (tx) =>
      tx.query(
        `INSERT INTO service_principal (partner_id, org_id, name, scopes)
       SELECT :partnerId::uuid, :orgId::uuid, 'Relay ' || n, '{}' FROM generate_series(1, :count::int) n`,
        { partnerId, orgId, count: EXPORT_READ_LIMIT },
      ),
    );
    const first = await list('service_principal');
    expect(first).toHaveLength(EXPORT_READ_LIMIT);
    const rest = await list('service_principal', callerOf(), first.at(-1)?.id ?? null);
    const ids = [...first, ...rest].map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(EXPORT_READ_LIMIT + 1);
  });
});
