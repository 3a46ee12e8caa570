import { createHash, randomUUID } from 'node:crypto';
import {
  CREDENTIALS_PARTNER_ENROLLMENT_KEYS_CREATE,
  ENROLLMENT_KEYS_RESERVE,
  type PartnerEnrollmentKeyCreateRequest,
} from '@rmm/contracts';
import { PurgeIdempotencyRecordsJob } from '@rmm/persistence';
import { hashEnrollmentKey, hashKey } from '@rmm/secrets';
import { deserializeError, type DomainError } from '@rmm/service-kit';
import { buildCustomer, type Customer } from '../../test/build-customer.js';
import { CredentialsTestApp, PEPPER } from '../../test/credentials-test-app.js';
import { buildPrincipal } from '../../test/partner-principals.js';

const MINUTE_MS = 60_000;

type Key = PartnerEnrollmentKeyCreateRequest['caller'];

describe('PartnerEnrollmentKeysService', () => {
  let service: CredentialsTestApp;
  let ours: Customer;
  let theirs: Customer;
  let caller: Key;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    [ours, theirs] = [await buildCustomer(service), await buildCustomer(service)];
  });
  afterAll(() => service?.stop());
  beforeEach(() => {
    caller = partnerKey(ours.partnerId);
  });

  const partnerKey = (partnerId: string, principalId: string = randomUUID()): Key => ({
    kind: 'partner_key',
    keyId: randomUUID(),
    principalId,
    tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [] },
  });
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

  const create = (given: Partial<PartnerEnrollmentKeyCreateRequest> = {}, key?: string) => {
    const body = {
      orgId: ours.orgId,
      siteId: null,
      name: 'Roll-out',
      maxUsage: 1,
      ttlMinutes: null,
      expiresAt: null,
      issueSecret: false,
      requireRestrictedPrincipal: false,
      ...given,
    };
    const identity = { id: sha256(`${caller.principalId} ${key}`), callerId: `principal:${caller.principalId}` };
    const idempotency = key === undefined ? null : { ...identity, bodyHash: sha256(JSON.stringify(body)) };
    return service.request(CREDENTIALS_PARTNER_ENROLLMENT_KEYS_CREATE, { caller, idempotency, ...body });
  };
  const refusal = (call: Promise<unknown>): Promise<DomainError> =>
    call.then(
      () => Promise.reject(new Error('it was carried out')),
      (error: Error) => deserializeError(JSON.parse(error.message)),
    );
  const codeOf = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'created',
      (error: Error) => deserializeError(JSON.parse(error.message)).code,
    );
  const stored = async (id: string) => {
    const { rows } = await service.admin.query<Record<string, unknown>>('SELECT * FROM enrollment_key WHERE id = $1', [
      id,
    ]);
    return rows[0];
  };
  const countNamed = async (name: string): Promise<number> => {
    const { rows } = await service.admin.query('SELECT 1 FROM enrollment_key WHERE name = $1', [name]);
    return rows.length;
  };
  const recordOf = async (key: string) => {
    const id = sha256(`${caller.principalId} ${key}`);
    const { rows } = await service.admin.query<{ response: string | null }>(
      'SELECT * FROM idempotency_record WHERE id = $1',
      [id],
    );
    return rows[0];
  };

  it('creates a key without a creator, which agents can use, and names the principal in the audit log', async () => {
    const { record, replayed } = await create({ siteId: ours.siteIds[0], maxUsage: 5, ttlMinutes: 60 });
    const { key, enrollmentSecret, ...fields } = record;
    expect([replayed, enrollmentSecret]).toEqual([false, null]);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(fields).toEqual({
      id: expect.any(String),
      orgId: ours.orgId,
      siteId: ours.siteIds[0],
      name: 'Roll-out',
      usageCount: 0,
      maxUsage: 5,
      expiresAt: expect.stringMatching(/Z$/),
      createdAt: expect.stringMatching(/Z$/),
    });
    expect(Math.abs(Date.parse(fields.expiresAt) - Date.parse(fields.createdAt) - 60 * MINUTE_MS)).toBeLessThan(
      MINUTE_MS / 2,
    );
    expect(await stored(fields.id)).toMatchObject({
      created_by: null,
      secret_hash: null,
      key_hash: hashEnrollmentKey(key, PEPPER),
    });
    expect((await ours.owner.get(`/enrollment-keys/${fields.id}`)).body).toMatchObject({
      createdBy: null,
      status: 'active',
    });
    const keyHashes = [hashEnrollmentKey(key, PEPPER).toString('hex')];
    expect(await service.request(ENROLLMENT_KEYS_RESERVE, { keyHashes, deviceId: randomUUID() })).toMatchObject({
      reserved: true,
      orgId: ours.orgId,
      siteId: ours.siteIds[0],
    });
    expect(await service.findAuditEntry('enrollment_key.create', fields.id)).toMatchObject({
      actor: { type: 'api_key', id: caller.principalId },
      initiatedBy: null,
      details: { siteId: ours.siteIds[0], maxUsage: 5 },
    });
  });

  it('issues a secret where one is asked for, and stores its hash alone', async () => {
    const { record } = await create({ issueSecret: true });
    expect(record.enrollmentSecret).toMatch(/^[\w-]{43}$/);
    expect((await stored(record.id)).secret_hash).toEqual(hashKey(record.enrollmentSecret ?? ''));
    const { details } = await service.findAuditEntry('enrollment_key.create', record.id);
    expect(details).toMatchObject({ enrollmentSecretIssued: true });
  });

  it('defaults to 30 days, or less when the partner limits it', async () => {
    const { record } = await create();
    const days = (Date.parse(record.expiresAt) - Date.parse(record.createdAt)) / 86_400_000;
    expect(Math.round(days)).toBe(30);
  });

  it('refuses an organization of another partner, one that is not active, and an unknown one', async () => {
    const suspended = await service.createOrganization(ours.partnerId);
    await service.publishOrganization('organization.updated', {
      orgId: suspended,
      partnerId: ours.partnerId,
      version: 2,
      status: 'suspended',
    });
    for (const orgId of [theirs.orgId, suspended, randomUUID()]) {
      expect(await refusal(create({ orgId, name: 'Foreign' }))).toMatchObject({
        status: 403,
        code: 'organization_access_denied',
      });
    }
    expect(await countNamed('Foreign')).toBe(0);
  });

  it('refuses a site of another organization, of another partner, and an unknown one', async () => {
    const sibling = service.provisioning.addSite(await service.createOrganization(ours.partnerId));
    for (const siteId of [sibling, theirs.siteIds[0], randomUUID()]) {
      expect(await refusal(create({ siteId, name: 'Elsewhere' }))).toMatchObject({
        status: 400,
        code: 'partner_provisioning_site_mismatch',
      });
    }
    expect(await countNamed('Elsewhere')).toBe(0);
  });

  it('refuses more than the partner allows, a past expiry, and both ways to say when', async () => {
    const capped = await buildCustomer(service);
    const settings = { enrollment: { maxTtlMinutes: 60 } };
    await service.publishPartner('partner.updated', { partnerId: capped.partnerId, version: 2, settings });
    caller = partnerKey(capped.partnerId);
    const { orgId } = capped;
    expect((await create({ orgId, ttlMinutes: 60 })).replayed).toBe(false);
    const inTwoHours = new Date(Date.now() + 120 * MINUTE_MS).toISOString();
    for (const asked of [{ ttlMinutes: 61 }, { expiresAt: inTwoHours }]) {
      expect(await refusal(create({ orgId, ...asked }))).toMatchObject({
        status: 400,
        code: 'partner_provisioning_ttl_exceeds_cap',
        sentence: 'The partner allows at most 60 minutes',
      });
    }
    for (const asked of [{ expiresAt: '2020-01-01T00:00:00Z' }, { ttlMinutes: 5, expiresAt: inTwoHours }]) {
      expect(await refusal(create({ orgId, ...asked }))).toMatchObject({ status: 400, code: 'validation_failed' });
    }
    const { record } = await create({ orgId });
    expect(Date.parse(record.expiresAt) - Date.parse(record.createdAt)).toBeLessThanOrEqual(61 * MINUTE_MS);
  });

  it('requires a restricted principal where the operator says so', async () => {
    const requireRestrictedPrincipal = true;
    for (const [more, allowed] of [
      [{}, false],
      [{ expiresAt: '2099-01-01T00:00:00Z' }, true],
      [{ sourceCidrs: ['192.0.2.0/24'] }, true],
    ] as const) {
      const { id } = await buildPrincipal(ours.owner, more);
      caller = partnerKey(ours.partnerId, id);
      expect(await codeOf(create({ requireRestrictedPrincipal }))).toBe(
        allowed ? 'created' : 'partner_provisioning_principal_restrictions_required',
      );
      expect(await codeOf(create())).toBe('created');
    }
    const { id } = await buildPrincipal(theirs.owner, { sourceCidrs: ['192.0.2.0/24'] });
    caller = partnerKey(ours.partnerId, id); // of another partner: not seen
    expect(await codeOf(create({ requireRestrictedPrincipal }))).toBe(
      'partner_provisioning_principal_restrictions_required',
    );
  });

  it('keeps to the number of keys of an organization under concurrent requests', async () => {
    const { orgId, partnerId } = await buildCustomer(service);
    await service.admin.query(
      `INSERT INTO enrollment_key (partner_id, org_id, name, key_hash, expires_at)
       SELECT $1, $2, 'k', sha256(gen_random_uuid()::text::bytea), now() FROM generate_series(1, 995)`,
      [partnerId, orgId],
    );
    caller = partnerKey(partnerId);
    const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(create({ orgId }))));
    expect(codes.filter((code) => code === 'created')).toHaveLength(5);
    expect(codes.filter((code) => code === 'key_limit_reached')).toHaveLength(15);
  });

  describe('with an idempotency key', () => {
    it('replays the key, which is sealed at rest, and creates no other', async () => {
      const name = randomUUID();
      const first = await create({ name, issueSecret: true }, 'k');
      expect(await create({ name, issueSecret: true }, 'k')).toEqual({ record: first.record, replayed: true });
      expect(await countNamed(name)).toBe(1);
      const { response } = await recordOf('k');
      expect(response).toMatch(/^v1\./);
      const { key, enrollmentSecret } = first.record;
      const { rows: tables } = await service.admin.query<{ name: string }>(
        `SELECT quote_ident(table_name) AS name FROM information_schema.tables
         WHERE table_schema = 'credentials' AND table_type = 'BASE TABLE'`,
      );
      const rows = [];
      for (const { name: table } of tables) {
        rows.push((await service.admin.query(`SELECT t::text FROM ${table} t`)).rows);
      }
      const everything = JSON.stringify([rows, service.received, service.broadcasts]);
      expect(everything).toContain(first.record.id);
      expect(everything).not.toContain(key);
      expect(everything).not.toContain(enrollmentSecret ?? 'no secret');
    });

    it('creates one key of 20 concurrent requests', async () => {
      const name = randomUUID();
      const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(create({ name }, 'same'))));
      expect(codes.filter((code) => code !== 'created' && code !== 'idempotency_key_in_use')).toEqual([]);
      expect(codes).toContain('created');
      expect(await countNamed(name)).toBe(1);
    });

    it('erases the key after ten minutes, and then refuses the repeated request instead of creating another', async () => {
      const name = randomUUID();
      await create({ name }, 'k');
      const id = sha256(`${caller.principalId} k`);
      const { rows } = await service.admin.query<{ seconds: number }>(
        `SELECT extract(epoch FROM response_expires_at - created_at)::int AS seconds FROM idempotency_record WHERE id = $1`,
        [id],
      );
      expect(rows).toEqual([{ seconds: 600 }]);
      await service.admin.query(
        `UPDATE idempotency_record SET response_expires_at = now() - interval '1 second' WHERE id = $1`,
        [id],
      );
      expect(await codeOf(create({ name }, 'k'))).toBe('idempotent_response_not_stored');
      await service.app.get(PurgeIdempotencyRecordsJob).run();
      expect(await recordOf('k')).toMatchObject({ response: null });
      expect(await codeOf(create({ name }, 'k'))).toBe('idempotent_response_not_stored');
      expect(await countNamed(name)).toBe(1);
    });

    it('opens a stored response for its own idempotency key only', async () => {
      await create({}, 'a');
      await create({}, 'b');
      await service.admin.query(
        `UPDATE idempotency_record SET response = (SELECT response FROM idempotency_record WHERE id = $1) WHERE id = $2`,
        [sha256(`${caller.principalId} a`), sha256(`${caller.principalId} b`)],
      );
      expect(await codeOf(create({}, 'b'))).toBe('idempotent_response_not_stored');
    });

    it('refuses another body, and frees the key of a refused request', async () => {
      await create({}, 'k');
      expect(await codeOf(create({ maxUsage: 2 }, 'k'))).toBe('idempotency_key_reused');
      const sibling = service.provisioning.addSite(await service.createOrganization(ours.partnerId));
      expect(await codeOf(create({ siteId: sibling }, 'refused'))).toBe('partner_provisioning_site_mismatch');
      expect((await create({}, 'refused')).replayed).toBe(false);
    });

    it('replays also when the lifetime is over the cap by then', async () => {
      const capped = await buildCustomer(service);
      caller = partnerKey(capped.partnerId);
      const given = { orgId: capped.orgId, ttlMinutes: 600 };
      const first = await create(given, 'k');
      const settings = { enrollment: { maxTtlMinutes: 60 } };
      await service.publishPartner('partner.updated', { partnerId: capped.partnerId, version: 2, settings });
      expect(await codeOf(create(given))).toBe('partner_provisioning_ttl_exceeds_cap');
      expect(await create(given, 'k')).toEqual({ record: first.record, replayed: true });
    });

    it('stores nothing while provisioning cannot be asked, and creates once afterwards', async () => {
      const name = randomUUID();
      const given = { name, siteId: ours.siteIds[0] };
      service.provisioning.unavailable = true;
      const refused = await refusal(create(given, 'k')).finally(() => (service.provisioning.unavailable = false));
      expect(refused).toMatchObject({ status: 503, code: 'service_unavailable' });
      expect([await countNamed(name), await recordOf('k')]).toEqual([0, undefined]);
      expect((await create(given, 'k')).replayed).toBe(false);
      expect((await create(given, 'k')).replayed).toBe(true);
      expect(await countNamed(name)).toBe(1);
    });
  });
});
