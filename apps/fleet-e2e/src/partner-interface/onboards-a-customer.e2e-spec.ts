import {
  ApiClient,
  buildEnrollment,
  connectToFleet,
  createOrganization,
  eventually,
  partnerWithMfa,
  untilStatus,
} from '@rmm/testing';
import { createPartnerKey, rateOf } from '../credentials/machines.js';
import { must } from '../steps.js';

const WRITES = ['organizations:write', 'sites:write', 'enrollment-keys:write'];
const READS = ['organizations:read', 'sites:read'];

describe('a partner key with write scopes', () => {
  const fleet = connectToFleet();
  let admin: ApiClient;
  let principalId: string;
  let machine: ApiClient;

  const createPrincipal = async (client: ApiClient, scopes?: string[]) => {
    const { principalId: id, key } = await createPartnerKey(client, { scopes });
    return { id, machine: new ApiClient(fleet.baseUrl, { apiKey: key }) };
  };
  const post = (path: string, body: object, key?: string, as = machine) =>
    as.send('POST', `/partner-api/${path}`, body, { headers: key ? { 'Idempotency-Key': key } : {} });
  const enroll = (key: string, more: object = {}) =>
    new ApiClient(fleet.baseUrl).post('/agents/enroll', { ...buildEnrollment(key), ...more });

  beforeAll(async () => {
    admin = (await partnerWithMfa(fleet)).client;
    ({ id: principalId, machine } = await createPrincipal(admin, [...READS, ...WRITES]));
  });

  it('onboards a customer: organization, site, enrollment key, and then an agent enrolls', async () => {
    const organization = await post('organizations', { name: 'Blue Bakery', slug: 'blue-bakery' });
    expect(organization.status).toBe(201);
    expect(rateOf(organization)[0]).toBe(120);
    const { id: orgId, revision } = organization.body.data;

    const site = must(await post('sites', { orgId, name: 'Shop', timezone: 'Europe/Berlin' }), 201).data;
    expect(site).toMatchObject({ orgId, siteId: site.id, name: 'Shop', timezone: 'Europe/Berlin' });

    const created = await post('enrollment-keys', { orgId, siteId: site.id, name: 'Roll-out', maxUsage: 2 });
    expect([created.status, created.headers.get('cache-control')]).toEqual([201, 'no-store']);
    const agent = must(await enroll(created.body.key as string), 201);
    expect(agent).toMatchObject({ orgId, siteId: site.id });

    // The records are those of the export, and those of the console.
    const exported = must(await machine.get(`/partner-api/organizations?orgId=${orgId}`), 200).data;
    expect(exported).toEqual([expect.objectContaining({ id: orgId, revision })]);
    expect(must(await machine.get(`/partner-api/sites?orgId=${orgId}`), 200).data).toEqual([site]);
    expect(must(await admin.get(`/enrollment-keys/${created.body.data.id}`), 200)).toMatchObject({
      createdBy: null,
      usageCount: 1,
    });
    await eventually(async () => {
      const { data } = must(await admin.get(`/audit-logs?orgId=${orgId}&limit=100`), 200);
      const entries = data as { action: string; actorType: string; actorId: string }[];
      const byPrincipal = entries.filter(
        ({ actorType, actorId }) => actorType === 'api_key' && actorId === principalId,
      );
      const written = byPrincipal.map(({ action }) => action).filter((action) => action !== 'partner_api.export');
      expect(written.sort()).toEqual([
        'enrollment_key.create',
        'organization.create',
        'partner_api.request',
        'partner_api.request',
        'partner_api.request',
        'site.create',
      ]);
    });
  });

  it('is available to users at once', async () => {
    const { id: orgId } = must(await post('organizations', { name: 'At Once', slug: 'at-once' }), 201).data;
    const [keys, roles] = await Promise.all([
      admin.post('/enrollment-keys', { orgId, name: 'Roll-out' }),
      admin.get(`/users/roles?orgId=${orgId}`),
    ]);
    expect([keys.status, roles.status]).toEqual([201, 200]);
  });

  it('gets the stored response for a repeated request, and one effect for concurrent ones', async () => {
    const body = { name: 'Twice', slug: 'twice' };
    const first = must(await post('organizations', body, 'k1'), 201);
    const again = await post('organizations', body, 'k1');
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(again.body).toEqual(first);
    const other = await post('organizations', { ...body, name: 'Other' }, 'k1');
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_key_reused']);

    const orgId = first.data.id as string;
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => post('enrollment-keys', { orgId, name: 'Once' }, 'k2')),
    );
    const carriedOut = responses.filter(({ status }) => status === 201);
    expect(carriedOut.length).toBeGreaterThan(0);
    expect(new Set(carriedOut.map(({ body: { key } }) => key as string)).size).toBe(1);
    for (const { status, body: refused } of responses) {
      if (status !== 201) expect([status, refused.code]).toEqual([409, 'idempotency_key_in_use']);
    }
    expect(must(await admin.get(`/enrollment-keys?orgId=${orgId}`), 200).pagination.total).toBe(1);
  });

  it('names the existing organization for a taken slug', async () => {
    const body = { name: 'Taken', slug: 'taken' };
    const { id } = must(await post('organizations', body), 201).data;
    const conflict = await post('organizations', body);
    expect([conflict.status, conflict.body.code, conflict.body.orgId]).toEqual([
      409,
      'partner_provisioning_slug_conflict',
      id,
    ]);
  });

  it('denies access to organizations and sites of another partner', async () => {
    const { client: theirs } = await partnerWithMfa(fleet);
    const foreign = await createOrganization(theirs);
    for (const [path, body] of [
      ['sites', { orgId: foreign.orgId, name: 'Shop' }],
      ['enrollment-keys', { orgId: foreign.orgId, name: 'Roll-out' }],
    ] as const) {
      const response = await post(path, body);
      expect([response.status, response.body.code]).toEqual([403, 'organization_access_denied']);
    }
    const { orgId } = await createOrganization(admin);
    const mismatch = await post('enrollment-keys', { orgId, siteId: foreign.siteId, name: 'Roll-out' });
    expect([mismatch.status, mismatch.body.code]).toEqual([400, 'partner_provisioning_site_mismatch']);
  });

  it('issues a secret that agents need in addition to the key', async () => {
    const { orgId } = await createOrganization(admin);
    const { key, enrollmentSecret } = must(
      await post('enrollment-keys', { orgId, name: 'With secret', issueEnrollmentSecret: true }),
      201,
    );
    const without = await enroll(key as string);
    expect([without.status, without.body.code]).toEqual([403, 'enrollment_secret_required']);
    must(await enroll(key as string, { enrollmentSecret }), 201);
  });

  it('writes nothing with the scopes that a principal has by default', async () => {
    const { machine: reader } = await createPrincipal(admin);
    for (const path of ['organizations', 'sites', 'enrollment-keys']) {
      const refused = await untilStatus(() => post(path, {}, undefined, reader), 403);
      expect(refused.body).toMatchObject({ code: 'partner_api_scope_required', required: [`${path}:write`] });
    }
  });
});
