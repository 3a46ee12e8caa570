import {
  ApiClient,
  buildEnrollment,
  eventually,
  connectToFleet,
  createOrganization,
  partnerWithMfa,
} from '@rmm/testing';
import { must } from '../steps.js';
import { allOfDatabase, allOfLogs, allOfRedis, allOfStreams } from './everything-kept.js';
import { enrollDevice, machine } from './machines.js';

/** Creates, rotates and uses each kind of key; afterwards no store and no log contains one. */
describe('a raw key', () => {
  const fleet = connectToFleet();
  const keys: string[] = [];
  const noted = (body: { key: string }): string => {
    keys.push(body.key);
    return body.key;
  };

  beforeAll(async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const fields = `/devices/${await enrollDevice(fleet, client, orgId)}/custom-fields`;
    const post = async (path: string, body: object, status = 200) => must(await client.post(path, body), status);

    const apiKey = await post('/api-keys', { orgId, name: 'k', scopes: ['devices:read'] }, 201);
    must(await machine(fleet, noted(apiKey)).get(fields), 200);
    const rotated = noted(await post(`/api-keys/${apiKey.id}/rotate`, { overlapSeconds: 60 }));
    must(await machine(fleet, rotated).get(fields), 200);
    await machine(fleet, rotated).patch(fields, { a: 1 }); // refused: audited as a denial
    await machine(fleet, rotated).get('/users/me');

    const principal = await post('/service-principals', { orgId, name: 'p', scopes: [] }, 201);
    noted(principal);
    noted(await post(`/service-principals/${principal.id}/rotate`, {}));

    const enrollment = await post('/enrollment-keys', { orgId, name: 'e', maxUsage: 5 }, 201);
    must(await new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(noted(enrollment))), 201);
    noted(await post(`/enrollment-keys/${enrollment.id}/rotate`, {}));
    expect((await new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(enrollment.key))).status).toBe(
      401,
    );

    const { data } = await post('/partner-service-principals', { name: 'partner' }, 201);
    const issued = await post(`/partner-service-principals/${data.id}/keys`, { name: 'k' }, 201);
    must(await machine(fleet, noted(issued)).get('/partner-api/organizations'), 200);
    noted(await post(`/partner-service-principals/${data.id}/keys/${issued.keyId}/rotate`, {}));
    await machine(fleet, issued.key).get('/partner-api/organizations');

    const writer = await post('/partner-service-principals', { name: 'w', scopes: ['enrollment-keys:write'] }, 201);
    const writerKey = await post(`/partner-service-principals/${writer.data.id}/keys`, { name: 'k' }, 201);
    const provision = () =>
      machine(fleet, writerKey.key).send(
        'POST',
        '/partner-api/enrollment-keys',
        { orgId, name: 'p', issueEnrollmentSecret: true },
        { headers: { 'Idempotency-Key': 'raw-keys-nowhere' } },
      );
    const provisioned = must(await provision(), 201);
    noted(provisioned as { key: string });
    keys.push(provisioned.enrollmentSecret as string);
    expect(must(await provision(), 201)).toEqual(provisioned); // the stored response is sealed

    // Until uses are flushed and every audit entry has arrived.
    await eventually(async () => {
      expect(must(await client.get(`/api-keys/${apiKey.id}`), 200).usageCount).toBeGreaterThan(0);
      const audited = must(await client.get('/audit-logs?action=partner_service_principal_key.rotate'), 200);
      expect(audited.data).toHaveLength(1);
    });
  });

  it('is created in each of the nine ways, once with a secret', () => {
    expect(keys).toHaveLength(10);
    expect(new Set(keys).size).toBe(10);
  });

  // A known value has to be found, which proves that the search works.
  it.each([
    ['the database', allOfDatabase, () => keys[0]?.slice(0, 12)],
    ['Redis, jobs included', allOfRedis, () => 'rmm:keys:window:'],
    ['the streams', allOfStreams, () => keys[0]?.slice(0, 12)],
    ['the logs', allOfLogs, () => '/custom-fields'],
  ])('is not stored in %s', async (_, read, known) => {
    const found = new Set<string>();
    let isKnownFound = false;
    for await (const text of read(fleet)) {
      isKnownFound ||= text.includes(known() ?? '');
      for (const key of keys) if (text.includes(key) || text.includes(key.slice(20))) found.add(key.slice(0, 12));
    }
    expect(isKnownFound).toBe(true);
    expect([...found]).toEqual([]);
  });
});
