import {
  ApiClient,
  buildEnrollment,
  connectToFleet,
  createOrganization,
  partnerWithMfa,
  eventually,
} from '@rmm/testing';
import { enrollmentKey, must } from '../steps.js';

describe('an enrollment key', () => {
  const fleet = connectToFleet();
  const enroll = (body: object) => new ApiClient(fleet.baseUrl).post('/agents/enroll', body);

  it('enrolls exactly ten of fifty concurrent agents when ten uses are left', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId, siteId } = await createOrganization(client);
    const key = await enrollmentKey(client, orgId, { maxUsage: 10, siteId });

    const responses = await Promise.all(Array.from({ length: 50 }, () => enroll(buildEnrollment(key))));

    const enrolled = responses.filter((response) => response.status === 201);
    const refused = responses.filter((response) => response.status === 403);
    expect([enrolled.length, refused.length]).toEqual([10, 40]);
    for (const { body } of refused) {
      expect(['enrollment_key_exhausted', 'enrollment_key_race_lost']).toContain(body.code);
      expect(body.reason).toBe(body.code);
    }
    expect(enrolled.every(({ body }) => body.siteId === siteId && /^agt_/.test(body.authToken as string))).toBe(true);
    const devices = must(await client.get(`/devices?orgId=${orgId}`), 200);
    expect(devices.data).toHaveLength(10);
    await eventually(async () => {
      const [stored] = must(await client.get(`/enrollment-keys?orgId=${orgId}`), 200).data;
      expect(stored).toMatchObject({ usageCount: 10, status: 'exhausted' });
    });
  });

  it('keeps its use when an enrollment fails', async () => {
    const { client } = await partnerWithMfa(fleet);
    const [{ orgId }, other] = [await createOrganization(client), await createOrganization(client)];
    const key = await enrollmentKey(client, orgId);

    const failed = await enroll({ ...buildEnrollment(key), siteId: other.siteId });
    expect(failed.status).toBe(400);
    expect(failed.body).toMatchObject({ code: 'validation_failed' });
    expect(failed.body.details.fieldErrors).toHaveProperty('siteId');

    await eventually(async () => expect((await enroll(buildEnrollment(key))).status).toBe(201));
  });

  it('responds 401 when it is unknown', async () => {
    const response = await enroll(buildEnrollment('0'.repeat(64)));
    expect(response.status).toBe(401);
    expect(response.body.code).toBe('invalid_enrollment_key');
  });
});
