import { RequestMethod } from '@nestjs/common';
import { createHash, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import {
  CREDENTIALS_PARTNER_ENROLLMENT_KEYS_CREATE,
  type PartnerEnrollmentKeyCreateRequest,
  type PartnerOrganizationCreateRequest,
  type PartnerSiteCreateRequest,
  PROVISIONING_PARTNER_ORGANIZATIONS_CREATE,
  PROVISIONING_PARTNER_SITES_CREATE,
} from '@rmm/contracts';
import {
  BadRequestError,
  ConflictError,
  type DomainError,
  ForbiddenError,
  InternalError,
  readExamples,
  UnavailableError,
} from '@rmm/service-kit';
import { examplesOf, OpenApiDocument, type RecordedCall } from '@rmm/testing/openapi';
import { eventually } from '@rmm/testing-services';
import { canonicalJson } from '@rmm/validation';
import { GatewayTestApp } from '../../test/gateway-test-app.js';
import { revisionOf } from '../export/export-record.mapper.js';
import { ExportController } from '../export/export.controller.js';
import { EXAMPLES_FILE } from '../service-options.js';
import { WritesController } from './writes.controller.js';

const SCOPES = ['organizations:write', 'sites:write', 'enrollment-keys:write', 'sites:read'];
const ORGANIZATION = { name: 'Blue Bakery', slug: 'blue-bakery' };
const ORG_ID = '00000000-0000-4000-8000-000000000001';
const RAW_KEY = 'a1'.repeat(32);

describe('the writes of the partner interface', () => {
  let service: GatewayTestApp;
  const requests: {
    organizations: PartnerOrganizationCreateRequest[];
    sites: PartnerSiteCreateRequest[];
    keys: PartnerEnrollmentKeyCreateRequest[];
  } = { organizations: [], sites: [], keys: [] };
  /** Replies instead of the owners. */
  let refusal: DomainError | null = null;
  /** The owners reply with the stored response of an earlier request. */
  let replayed = false;

  beforeAll(async () => {
    service = await GatewayTestApp.start({ PARTNER_MINT_REQUIRES_RESTRICTED_PRINCIPAL: 'true' });
    const sourceUpdatedAt = '2026-03-01T12:00:00.000Z';
    const replyWith = <T>(record: T) => refusal ?? { record, replayed };
    service.serve(PROVISIONING_PARTNER_ORGANIZATIONS_CREATE, (request) => {
      requests.organizations.push(request);
      const { name, slug, type, status } = request;
      const id = randomUUID();
      return replyWith({ id, orgId: id, siteId: null, sourceUpdatedAt, name, slug, type, status });
    });
    service.serve(PROVISIONING_PARTNER_SITES_CREATE, (request) => {
      requests.sites.push(request);
      const { orgId, name, timezone, address, contact } = request;
      const id = randomUUID();
      return replyWith({ id, orgId, siteId: id, sourceUpdatedAt, name, timezone, address, contact });
    });
    service.serve(CREDENTIALS_PARTNER_ENROLLMENT_KEYS_CREATE, (request) => {
      requests.keys.push(request);
      const { orgId, siteId, name, maxUsage, issueSecret } = request;
      const times = { expiresAt: '2099-01-01T00:00:00.000Z', createdAt: sourceUpdatedAt };
      const enrollmentSecret = issueSecret ? 'the secret of the agents' : null;
      const fields = { id: randomUUID(), orgId, siteId, name, usageCount: 0, maxUsage, ...times };
      return replyWith({ ...fields, key: RAW_KEY, enrollmentSecret });
    });
    const { key } = service.createPartnerKey({ scopes: SCOPES });
    await eventually(async () => expect((await post(key, 'organizations', ORGANIZATION)).status).toBe(201));
  });
  afterAll(() => service?.stop());
  afterEach(() => {
    [refusal, replayed] = [null, false];
  });

  const post = (key: string, path: string, body: object | string, headers: Record<string, string> = {}) =>
    service.request('post', `/partner-api/${path}`, key).type('json').set(headers).send(body);
  const anyKey = () => service.createPartnerKey({ scopes: SCOPES });
  /** Waits for the audit entries of a request. */
  const auditedBy = ({ headers }: { headers: Record<string, string> }) =>
    eventually(() => {
      const found = service.auditEntries.filter(
        ({ correlationId, type }) => correlationId === headers['x-request-id'] && type.startsWith('partner_api'),
      );
      if (found.length === 0) throw new Error('no audit entry yet');
      return found;
    });
  /** Waits until an entry that was written later has arrived, then returns the number of entries of the request. */
  const countAudited = async ({ headers }: { headers: Record<string, string> }) => {
    await auditedBy(await post(anyKey().key, 'organizations', ORGANIZATION));
    return service.auditEntries.filter(({ correlationId }) => correlationId === headers['x-request-id']).length;
  };

  it('creates an organization of the partner of the key, whatever partner the body names', async () => {
    const { key, keyId, principalId, partnerId } = anyKey();
    const response = await post(key, 'organizations', { ...ORGANIZATION, name: ' Blue Bakery ', partnerId: 7 });
    expect(response.status).toBe(201);
    const { revision, ...record } = response.body.data;
    expect(response.body).toEqual({ schemaVersion: '1', data: { revision, ...record } });
    expect(record).toMatchObject({ ...ORGANIZATION, type: 'customer', status: 'active', siteId: null });
    expect(revision).toBe(revisionOf(canonicalJson(record)));
    expect(requests.organizations.at(-1)).toEqual({
      caller: {
        kind: 'partner_key',
        keyId,
        principalId,
        tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [] },
      },
      idempotency: null,
      ...ORGANIZATION,
      type: 'customer',
      status: 'active',
    });
    expect(await auditedBy(response)).toEqual([
      expect.objectContaining({
        type: 'partner_api.request',
        partnerId,
        orgId: record.id,
        actor: expect.objectContaining({ type: 'api_key', id: principalId }),
        data: expect.objectContaining({
          result: 'success',
          resourceId: record.id,
          details: { resource: 'organizations', keyId },
        }),
      }),
    ]);
  });

  it('creates a site, with every line of address and contact or null', async () => {
    const orgId = randomUUID();
    const { key } = anyKey();
    const bare = await post(key, 'sites', { orgId: orgId.toUpperCase(), name: 'Main' });
    expect(bare.body.data).toMatchObject({ orgId, timezone: 'UTC', address: null, contact: null });
    const full = await post(key, 'sites', {
      orgId,
      name: 'Main',
      timezone: 'Europe/Berlin',
      address: { city: 'Ulm', country: null },
      contact: { email: 'Ada@Acme.Example' },
    });
    expect([full.status, full.body.data.address, full.body.data.contact]).toEqual([
      201,
      { line1: null, line2: null, city: 'Ulm', region: null, postalCode: null, country: null },
      { name: null, email: 'ada@acme.example', phone: null },
    ]);
  });

  it('responds null and the reason for a created record that exports withhold', async () => {
    const contact = { name: 'password: Tr0ub4dor&3 for the firewall' };
    const { status, body } = await post(anyKey().key, 'sites', { orgId: randomUUID(), name: 'Main', contact });
    expect([status, body]).toEqual([
      201,
      {
        schemaVersion: '1',
        data: null,
        blocked: [
          {
            resource: 'sites',
            id: expect.any(String),
            orgId: requests.sites.at(-1)?.orgId,
            reason: 'secret_detected',
            fieldPaths: ['contact.name'],
          },
        ],
      },
    ]);
  });

  it('returns the secrets of an enrollment key next to its record, in a response that is not stored', async () => {
    const body = { orgId: randomUUID(), name: 'Roll-out' };
    const { key } = anyKey();
    const response = await post(key, 'enrollment-keys', body);
    expect([response.status, response.headers['cache-control']]).toEqual([201, 'no-store']);
    expect(response.body).toEqual({
      schemaVersion: '1',
      data: {
        ...body,
        id: expect.any(String),
        siteId: null,
        usageCount: 0,
        maxUsage: 1,
        expiresAt: expect.any(String),
        createdAt: expect.any(String),
      },
      key: RAW_KEY,
    });
    const expiresAt = '2098-01-01T00:00:00+02:00';
    const secret = await post(key, 'enrollment-keys', { ...body, expiresAt, issueEnrollmentSecret: true });
    expect(secret.body.enrollmentSecret).toBe('the secret of the agents');
    expect(requests.keys.at(-1)).toMatchObject({
      ttlMinutes: null,
      expiresAt: '2097-12-31T22:00:00.000Z',
      issueSecret: true,
      requireRestrictedPrincipal: true,
    });
    await auditedBy(secret);
    expect(JSON.stringify(service.auditEntries)).not.toMatch(new RegExp(`${RAW_KEY}|the secret of the agents`));
  });

  it.each([
    ['organizations', {}, 'name'],
    ['organizations', { ...ORGANIZATION, name: 'x'.repeat(256) }, 'name'],
    ['organizations', { name: 'No slug' }, 'slug'],
    ['organizations', { ...ORGANIZATION, slug: 'Blue Bakery' }, 'slug'],
    ['organizations', { ...ORGANIZATION, slug: 'x'.repeat(101) }, 'slug'],
    ['organizations', { ...ORGANIZATION, status: 'suspended' }, 'status'],
    ['organizations', { ...ORGANIZATION, type: 'vendor' }, 'type'],
    ['organizations', { ...ORGANIZATION, settings: {} }, 'settings'],
    ['sites', { name: 'Main' }, 'orgId'],
    ['sites', { orgId: 'x', name: 'Main' }, 'orgId'],
    ['sites', { orgId: ORG_ID, name: 'Main', timezone: 'Mars/Base' }, 'timezone'],
    ['sites', { orgId: ORG_ID, name: 'Main', address: { street: 'x' } }, 'address.street'],
    ['sites', { orgId: ORG_ID, name: 'Main', contact: 'Ada' }, 'contact'],
    ['enrollment-keys', { name: 'Roll-out' }, 'orgId'],
    ['enrollment-keys', { orgId: ORG_ID, name: 'k', maxUsage: 0 }, 'maxUsage'],
    ['enrollment-keys', { orgId: ORG_ID, name: 'k', maxUsage: 100_001 }, 'maxUsage'],
    ['enrollment-keys', { orgId: ORG_ID, name: 'k', ttlMinutes: 525_601 }, 'ttlMinutes'],
    ['enrollment-keys', { orgId: ORG_ID, name: 'k', expiresAt: '2099-01-01' }, 'expiresAt'],
    ['enrollment-keys', { orgId: ORG_ID, name: 'k', siteId: 7 }, 'siteId'],
    ['enrollment-keys', { orgId: ORG_ID, name: 'k', key: RAW_KEY }, 'key'],
  ])('refuses a malformed body of %s before it is sent: %j', async (path, body, field) => {
    const sent = Object.values(requests).flat().length;
    const response = await post(anyKey().key, path, body);
    expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
    expect(Object.keys(response.body.details.fieldErrors)).toContain(field);
    expect(Object.values(requests).flat()).toHaveLength(sent);
  });

  it('checks credential and scope before the body', async () => {
    const anonymous = await service.request('post', '/partner-api/organizations').type('json').send('{');
    expect([anonymous.status, anonymous.body.code]).toEqual([401, 'partner_api_auth_required']);
    for (const scope of ['organizations', 'sites', 'enrollment-keys']) {
      const scopes = SCOPES.filter((one) => one !== `${scope}:write`);
      const refused = await post(service.createPartnerKey({ scopes }).key, scope, { nonsense: 1 });
      expect([refused.status, refused.body.code, refused.body.required]).toEqual([
        403,
        'partner_api_scope_required',
        [`${scope}:write`],
      ]);
    }
    const apiKey = await post(service.createApiKey({ scopes: ['*'] as never }), 'organizations', ORGANIZATION);
    expect([apiKey.status, apiKey.body.code]).toEqual([401, 'api_key_not_accepted_here']);
  });

  it('passes the refusals of the owners on, and records them without the body', async () => {
    const orgId = randomUUID();
    class Conflict extends ConflictError {
      override code = 'partner_provisioning_slug_conflict';
    }
    refusal = new Conflict('Slug is already in use', { extras: { orgId } });
    const conflict = await post(anyKey().key, 'organizations', ORGANIZATION);
    expect([conflict.status, conflict.body.code, conflict.body.orgId]).toEqual([
      409,
      'partner_provisioning_slug_conflict',
      orgId,
    ]);
    const [failed] = await auditedBy(conflict);
    expect(failed).toMatchObject({
      type: 'partner_api.request',
      data: { result: 'failure', errorMessage: 'partner_provisioning_slug_conflict' },
    });

    class Mismatch extends BadRequestError {
      override code = 'partner_provisioning_site_mismatch';
    }
    refusal = new Mismatch();
    const mismatch = await post(anyKey().key, 'enrollment-keys', { orgId, name: 'k', siteId: randomUUID() });
    expect([mismatch.status, mismatch.body.code]).toEqual([400, 'partner_provisioning_site_mismatch']);

    class Denied extends ForbiddenError {
      override code = 'organization_access_denied';
    }
    refusal = new Denied();
    const denied = await post(anyKey().key, 'sites', { orgId, name: 'Main' });
    expect([denied.status, denied.body.code]).toEqual([403, 'organization_access_denied']);
    const [entry] = await eventually(() => {
      const found = service.auditEntries.filter(
        ({ type, data }) => type === 'partner_api.request' && (data as { result: string }).result === 'denied',
      );
      expect(found).not.toHaveLength(0);
      return found;
    });
    expect(entry).toMatchObject({ data: { details: { resource: 'sites', reason: 'organization_access_denied' } } });
    expect(JSON.stringify(entry)).not.toContain(orgId);
  });

  it('responds 503 when the owner is not available, with the rate headers', async () => {
    refusal = new UnavailableError();
    const { key } = service.createPartnerKey({ scopes: SCOPES, rateLimit: 50 });
    const response = await post(key, 'organizations', ORGANIZATION);
    expect([response.status, response.body.code, response.headers['retry-after']]).toEqual([
      503,
      'service_unavailable',
      '1',
    ]);
    expect(response.headers['x-ratelimit-limit']).toBe('50');
  });

  it('responds 500 partner_export_failed without details for an unexpected error', async () => {
    refusal = new InternalError('password=hunter2');
    const response = await post(anyKey().key, 'organizations', ORGANIZATION);
    expect([response.status, response.body.code]).toEqual([500, 'partner_export_failed']);
    expect(response.text).not.toContain('hunter2');
  });

  describe('with an idempotency key', () => {
    it('sends principal, route, key and body as hashes, the same for every key of the principal', async () => {
      const principalId = randomUUID();
      const partnerId = randomUUID();
      const [one, other] = [0, 1].map(() => service.createPartnerKey({ scopes: SCOPES, principalId, partnerId }).key);
      const headers = { 'Idempotency-Key': 'k' };
      await post(one, 'organizations', ORGANIZATION, headers);
      const first = requests.organizations.at(-1)?.idempotency;
      expect(first).toEqual({
        id: expect.stringMatching(/^[0-9a-f]{64}$/),
        callerId: `principal:${principalId}`,
        bodyHash: createHash('sha256').update(JSON.stringify(ORGANIZATION)).digest('hex'),
      });
      await post(other, 'organizations', ORGANIZATION, { 'X-Idempotency-Key': 'k' });
      expect(requests.organizations.at(-1)?.idempotency).toEqual(first);
      await post(one, 'sites', { orgId: randomUUID(), name: 'Main' }, headers);
      expect(requests.sites.at(-1)?.idempotency?.id).not.toBe(first?.id);
      await post(anyKey().key, 'organizations', ORGANIZATION, headers);
      expect(requests.organizations.at(-1)?.idempotency?.id).not.toBe(first?.id);
    });

    it('marks a stored response, and records no second entry', async () => {
      replayed = true;
      const stored = await post(anyKey().key, 'organizations', ORGANIZATION, { 'Idempotency-Key': 'k' });
      expect([stored.status, stored.headers['idempotency-replayed']]).toEqual([201, 'true']);
      replayed = false;
      const fresh = await post(anyKey().key, 'organizations', ORGANIZATION, { 'Idempotency-Key': 'k' });
      expect([fresh.status, fresh.headers['idempotency-replayed']]).toEqual([201, undefined]);
      expect([await countAudited(stored), await countAudited(fresh)]).toEqual([0, 1]);
    });

    it('refuses a malformed key before it is sent', async () => {
      const { key } = anyKey();
      const malformed: Record<string, string>[] = [
        { 'Idempotency-Key': 'x'.repeat(256) },
        { 'Idempotency-Key': 'two words' },
        { 'Idempotency-Key': 'a', 'X-Idempotency-Key': 'b' },
      ];
      for (const headers of malformed) {
        const response = await post(key, 'organizations', ORGANIZATION, headers);
        expect([response.status, response.body.code]).toEqual([400, 'invalid_idempotency_key']);
      }
    });
  });

  it('limits the writes of a principal to the smaller of the limit of the key and 120, apart from its reads', async () => {
    const low = service.createPartnerKey({ scopes: SCOPES, rateLimit: 2 });
    const sibling = service.createPartnerKey({ scopes: SCOPES, rateLimit: 2, principalId: low.principalId });
    const responses = [
      await post(low.key, 'organizations', ORGANIZATION),
      await post(sibling.key, 'sites', { nonsense: 1 }),
      await post(low.key, 'enrollment-keys', { orgId: randomUUID(), name: 'k' }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([201, 400, 429]);
    expect(responses.map(({ headers }) => headers['x-ratelimit-remaining'])).toEqual(['1', '0', '0']);
    const [, , refused] = responses;
    expect(refused.body).toMatchObject({ code: 'partner_api_rate_limited', retryAfter: expect.any(Number) });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_000);
    const read = await service.request('get', '/partner-api/sites?nonsense=1', low.key);
    expect([read.status, read.headers['x-ratelimit-remaining']]).toEqual([400, '1']);
    const high = await post(anyKey().key, 'organizations', ORGANIZATION);
    expect(high.headers['x-ratelimit-limit']).toBe('120');
  });

  // After a change: RECORD_EXAMPLES=1 npx jest -c apps/partner-gateway/jest.config.mjs src/writes
  it('respond as the OpenAPI document says, which shows each as an example', async () => {
    const { key } = anyKey();
    const orgId = randomUUID();
    const address = { line1: 'Main Street 1', city: 'Ulm', country: 'DE' };
    const calls: RecordedCall[] = [];
    for (const [resource, request] of [
      ['organizations', ORGANIZATION],
      ['sites', { orgId, name: 'Shop', timezone: 'Europe/Berlin', address }],
      ['sites', { orgId, name: 'Warehouse' }],
      ['enrollment-keys', { orgId, siteId: randomUUID(), name: 'Roll-out', maxUsage: 25, ttlMinutes: 10_080 }],
      ['enrollment-keys', { orgId, name: 'With secret', issueEnrollmentSecret: true }],
    ] as const) {
      const { status, headers, body } = await post(key, resource, request);
      const path = `/partner-api/${resource}`;
      calls.push({ method: 'post', path, credential: 'api-key', request, status, headers, body });
    }
    const document = new OpenApiDocument((await service.openApi()) as never);
    expect(document.contradictions(calls)).toEqual([]);
    const recorded = examplesOf(calls, document.operationOf);
    if (process.env.RECORD_EXAMPLES) {
      writeFileSync(EXAMPLES_FILE, JSON.stringify({ ...readExamples(EXAMPLES_FILE), ...recorded }, null, 2) + '\n');
    }
    expect(Object.keys(readExamples(EXAMPLES_FILE))).toEqual(expect.arrayContaining(Object.keys(recorded)));
    expect(document.exampleMismatches(readExamples(EXAMPLES_FILE))).toEqual([]);
  });

  it('are the only routes that are not read', async () => {
    const methods = [ExportController, WritesController].flatMap(({ prototype }) =>
      Object.getOwnPropertyNames(prototype)
        .map((name) => Reflect.getMetadata('method', (prototype as never)[name]) as RequestMethod | undefined)
        .filter((method) => method !== undefined && method !== RequestMethod.GET),
    );
    expect(methods).toEqual([RequestMethod.POST, RequestMethod.POST, RequestMethod.POST]);
    for (const method of ['put', 'patch', 'delete'] as const) {
      for (const path of ['organizations', 'sites', 'enrollment-keys', `sites/${randomUUID()}`]) {
        const response = await service.request(method, `/partner-api/${path}`, anyKey().key).type('json').send({});
        expect(response.status).toBe(404);
      }
    }
  });
});
