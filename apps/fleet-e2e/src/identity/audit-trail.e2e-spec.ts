import { connectToFleet, createOrganization, partnerWithMfa, registerPartner, eventually } from '@rmm/testing';
import { must } from '../steps.js';

describe('the audit log', () => {
  const fleet = connectToFleet();

  it('contains the actions of three services with actor and address, without any key', async () => {
    const { client, email, partnerId } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const { key } = must(await client.post('/api-keys', { orgId, name: 'Audited' }), 201);

    const rows = await eventually(async () => {
      const { data } = must(await client.get('/audit-logs?limit=100'), 200);
      const actions = (data as { action: string }[]).map((row) => row.action);
      expect(actions).toEqual(expect.arrayContaining(['api_key.create', 'organization.create', 'auth.mfa.enable']));
      return data as Record<string, unknown>[];
    });

    expect(rows.find((row) => row['action'] === 'api_key.create')).toMatchObject({
      partnerId,
      orgId,
      actorType: 'user',
      actorEmail: email,
      resourceType: 'api_key',
      resourceName: 'Audited',
      result: 'success',
      ipAddress: client.address,
    });
    expect(JSON.stringify(rows)).not.toContain(key);

    const file = must(await client.get('/audit-logs/export?action=api_key.*'), 200) as unknown as string;
    expect(file).toMatch(/^id,sequence,partnerId,.*\r\n/);
    expect(file).toContain(',api_key.create,');
    expect(file).not.toContain(key);
    const other = await registerPartner(fleet);
    const foreign = must(await other.client.get('/audit-logs?limit=100'), 200);
    expect(JSON.stringify(foreign)).not.toContain(orgId);
  });
});
