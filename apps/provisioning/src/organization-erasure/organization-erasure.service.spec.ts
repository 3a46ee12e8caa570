import { randomUUID } from 'node:crypto';
import { ERASING_SERVICES, PROVISIONING_ERASURES_REPORT } from '@rmm/contracts';
import { eventually } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;

describe('/orgs/organizations/:id/erasure', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let client: Client;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    client = await testApp.clientFor({ partnerId });
  });
  afterAll(() => testApp?.stop());

  const path = (id: string) => `/orgs/organizations/${id}/erasure`;
  const createDeleted = async () => {
    const { id, slug } = (await client.post('/orgs/organizations', { name: `Customer ${randomUUID()}` })).body;
    expect((await client.delete(`/orgs/organizations/${id}`)).status).toBe(200);
    return { id: String(id), slug: String(slug) };
  };

  it('is scheduled by the deletion, begins on request, and is finished by the report of every service', async () => {
    const { id, slug } = await createDeleted();
    const scheduled = (await client.get(path(id))).body;
    expect(scheduled).toMatchObject({ orgId: id, status: 'scheduled', requestedAt: null, services: [] });
    expect(Date.parse(scheduled.eraseAfter) - Date.parse(scheduled.deletedAt)).toBe(30 * 86_400_000);
    expect((await client.post(path(id), { slug })).status).toBe(202);
    expect((await client.post(`/orgs/organizations/${id}/restore`)).status).toBe(404);
    await testApp.waitForMessage('organization.erase.request', (entry) => entry.orgId === id);
    await testApp.waitForMessage('organization.erased', (event) => event.orgId === id);
    for (const service of ERASING_SERVICES) {
      const report = { orgId: id, partnerId, service, erased: { thing: 2 } };
      expect(await testApp.call(PROVISIONING_ERASURES_REPORT, report)).toEqual({ recorded: true });
      expect(await testApp.call(PROVISIONING_ERASURES_REPORT, report)).toEqual({ recorded: false });
    }
    await eventually(async () => expect((await client.get(path(id))).body.status).toBe('finished'), {
      timeoutMs: 20_000,
    });
    const { services } = (await client.get(path(id))).body;
    expect(services).toContainEqual({
      service: 'identity',
      erased: { thing: 2 },
      finishedAt: expect.stringMatching(/Z$/) as unknown,
    });
  });

  it('accepts one of parallel requests and repeats its response', async () => {
    const { id, slug } = await createDeleted();
    const responses = await Promise.all(Array.from({ length: 10 }, () => client.post(path(id), { slug })));
    expect(responses.some(({ status }) => status === 202)).toBe(true);
    expect(responses.filter(({ status }) => status !== 202 && status !== 404)).toEqual([]);
    expect((await client.post(path(id), { slug })).status).toBe(202);
    const { rows } = await testApp.admin.query('SELECT 1 FROM organization_erasure WHERE org_id = $1', [id]);
    expect(rows).toHaveLength(1);
  });

  it('records no report for an unknown organization, and none of a foreign partner', async () => {
    const report = { partnerId, service: 'identity' as const, erased: {} };
    const send = (given: object) =>
      testApp.call(PROVISIONING_ERASURES_REPORT, { orgId: randomUUID(), ...report, ...given });
    expect(await send({})).toEqual({ recorded: false });
    const { id, slug } = await createDeleted();
    await client.post(path(id), { slug });
    expect(await send({ orgId: id, partnerId: randomUUID() })).toEqual({ recorded: false });
    await expect(send({ orgId: 'x' })).rejects.toThrow('validation_failed');
    await expect(send({ erased: { thing: -1 } })).rejects.toThrow('validation_failed');
  });

  it('refuses other callers, live organizations and a wrong confirmation', async () => {
    const { id, slug } = await createDeleted();
    const live = (await client.post('/orgs/organizations', { name: 'Live' })).body;
    const theirs = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId: live.id });
    const attempts = [
      [client, live.id, { slug: live.slug }, 404, 'not_found'],
      [client, randomUUID(), { slug }, 404, 'not_found'],
      [theirs, id, { slug }, 404, 'not_found'],
      [member, live.id, { slug }, 403, 'scope_not_allowed'],
      [await testApp.clientFor({ partnerId, mfa: false }), id, { slug }, 403, 'mfa_required'],
      [
        await testApp.clientFor({ partnerId, permissions: ['organizations:write'] }),
        id,
        { slug },
        403,
        'permission_denied',
      ],
      [client, id, { slug: 'another' }, 400, 'validation_failed'],
      [client, id, {}, 400, 'validation_failed'],
    ] as const;
    for (const [by, of, body, status, code] of attempts) {
      const response = await by.post(path(of as string), body);
      expect([response.status, response.body.code]).toEqual([status, code]);
    }
    expect((await theirs.get(path(id))).status).toBe(404);
    expect((await client.get(path(live.id))).status).toBe(404);
    expect((await client.get(path(id))).body.status).toBe('scheduled');
  });
});
