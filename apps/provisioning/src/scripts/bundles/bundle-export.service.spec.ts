import { randomUUID } from 'node:crypto';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

const SCRIPT = {
  name: 'Disk space',
  osTypes: ['linux', 'macos'],
  language: 'bash',
  content: 'df -h\n',
  runAs: 'elevated',
  timeoutSeconds: 60,
  description: 'Shows disks',
  category: 'Storage',
  tags: ['disk'],
  parameters: { limit: { type: 'number' } },
  exitCodeSeverityMapping: { '1': 'high' },
};

describe('GET /scripts/bundle/export', () => {
  let testApp: ProvisioningTestApp;
  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
  });
  afterAll(() => testApp?.stop());

  const freshPartner = async () => {
    const partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    const orgId = (await client.post('/orgs/organizations', { name: `Org ${randomUUID()}` }).expect(201)).body
      .id as string;
    return { partnerId, client, orgId };
  };

  it('exports in the order of the ids what another tenant can import', async () => {
    const { client, orgId } = await freshPartner();
    const a = (await client.post('/scripts', { ...SCRIPT, orgId }).expect(201)).body.id as string;
    const b = (await client.post('/scripts', { ...SCRIPT, name: 'B', availability: 'partner' }).expect(201)).body
      .id as string;
    const { body } = await client.get(`/scripts/bundle/export?ids=${b},${a},${b.toUpperCase()}`).expect(200);
    expect(body).toEqual({
      bundleVersion: 1,
      exportedAt: expect.any(String),
      scripts: [{ ...SCRIPT, name: 'B' }, SCRIPT],
    });
    await testApp.waitForMessage('script.bundle.export', ({ data }) => JSON.stringify(data).includes(b));
    const other = await freshPartner();
    const result = await other.client.post('/scripts/bundle/import', { bundle: body, orgId: other.orgId }).expect(200);
    expect(result.body).toMatchObject({ imported: 2, errors: [], warnings: [] });
    const copy = (await other.client.get(`/scripts/${result.body.scripts[1].scriptId}`)).body;
    expect(copy).toMatchObject({ ...SCRIPT, orgId: other.orgId, partnerId: other.partnerId });
  });

  it('refuses ids without access, and malformed, no or many ids', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const { id } = (await client.post('/scripts', { ...SCRIPT, orgId }).expect(201)).body;
    const theirs = (await freshPartner()).client;
    await theirs.get(`/scripts/bundle/export?ids=${id}`).expect(404);
    await client.get(`/scripts/bundle/export?ids=${id},${randomUUID()}`).expect(404);
    const many = Array.from({ length: 201 }, () => randomUUID()).join();
    for (const query of ['', '?ids=', '?ids=x', `?ids=${id},`, `?ids=${many}`]) {
      const { body } = await client.get(`/scripts/bundle/export${query}`).expect(400);
      expect(body.code).toBe('validation_failed');
    }
    const writer = await testApp.clientFor({ partnerId, permissions: ['scripts:write'] });
    await writer.get(`/scripts/bundle/export?ids=${id}`).expect(403);
    const member = await testApp.clientFor({
      scope: 'organization',
      partnerId,
      orgId,
      permissions: ['scripts:read'],
      mfa: false,
    });
    await member.get(`/scripts/bundle/export?ids=${id}`).expect(200);
  });

  it('refuses scripts that are too large together', async () => {
    const { client, orgId, partnerId } = await freshPartner();
    const { rows } = await testApp.admin.query(
      `INSERT INTO script (id, partner_id, org_id, name, name_key, os_types, language, content, run_as, timeout_seconds,
         version, definition_sha256)
       SELECT gen_random_uuid(), $1, $2, 'S' || n, 's' || n, '{linux}', 'bash', repeat('x', 262144), 'system', 300, 1,
              repeat('0', 64)
         FROM generate_series(1, 73) n RETURNING id`,
      [partnerId, orgId],
    );
    const ids = (rows as { id: string }[]).map(({ id }) => id);
    await client.get(`/scripts/bundle/export?ids=${ids.slice(1).join()}`).expect(200);
    const { body } = await client.get(`/scripts/bundle/export?ids=${ids.join()}`).expect(400);
    expect(Object.keys(body.details.fieldErrors)).toEqual(['ids']);
  });
});
