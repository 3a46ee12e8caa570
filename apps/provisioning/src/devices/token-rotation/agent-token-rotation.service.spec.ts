import { randomUUID } from 'node:crypto';
import { AgentRecords } from '@rmm/access';
import { mintAgentToken } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import { insertDevice } from '../../../test/device-rows.js';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

type Client = Awaited<ReturnType<ProvisioningTestApp['clientFor']>>;

describe('POST /devices/:id/rotate-agent-token', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let client: Client;

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    client = await testApp.clientFor({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id;
  });
  afterAll(() => testApp?.stop());

  const device = async (values: object = {}) => {
    const { key, keyHash } = mintAgentToken();
    const row = { partner_id: partnerId, org_id: orgId, hostname: 'alpha', agent_token_hash: keyHash, ...values };
    const id = await insertDevice(testApp.admin, row);
    const { rows } = await testApp.admin.query('SELECT agent_id FROM device WHERE id = $1', [id]);
    const agentId = rows[0].agent_id as string;
    const sendHeartbeat = (token: string) =>
      testApp.client(token).post(`/agents/${agentId}/heartbeat`, { agentVersion: '1' });
    return { id, token: key, sendHeartbeat };
  };
  const rotate = (id: string, as = client) => as.post(`/devices/${id}/rotate-agent-token`);
  const expire = (id: string) =>
    testApp.admin.query('UPDATE agent_token_rotation SET expires_at = now() WHERE device_id = $1', [id]);
  /** Heartbeats until the agent gets the command: its cached record is dropped by a broadcast. */
  const offeredTo = ({ sendHeartbeat, token }: Awaited<ReturnType<typeof device>>): Promise<string> =>
    eventually(async () => {
      const { body } = await sendHeartbeat(token);
      expect(body.commands).toEqual([{ id: expect.any(String), type: 'rotate_token', payload: expect.anything() }]);
      return body.commands[0].payload.authToken as string;
    });

  it('offers a new token with a heartbeat, keeps the present one until the new one is used, and then ends it', async () => {
    const target = await device();
    expect((await target.sendHeartbeat(target.token)).body.commands).toEqual([]);
    const { status, body } = await rotate(target.id);
    expect([status, body]).toEqual([200, { success: true, expiresAt: expect.any(String) }]);
    const next = await offeredTo(target);
    expect(next).toMatch(/^agt_[A-Za-z0-9_-]{43}$/);
    expect((await target.sendHeartbeat(target.token)).body.commands).toEqual([]);
    expect((await target.sendHeartbeat(next)).status).toBe(200);
    await testApp.waitForMessage('device.agent_token.rotate', ({ aggregateId }) => aggregateId === target.id);
    await eventually(async () => expect((await target.sendHeartbeat(target.token)).status).toBe(401));
    expect((await target.sendHeartbeat(next)).body.commands).toEqual([]);
    const dump = await testApp.admin.query('SELECT * FROM agent_token_rotation WHERE device_id = $1', [target.id]);
    expect(dump.rows).toEqual([]);
    expect(JSON.stringify(testApp.received)).not.toContain(next);
  });

  it('promotes the new token once when it is used by parallel requests', async () => {
    const target = await device();
    await rotate(target.id);
    const next = await offeredTo(target);
    const responses = await Promise.all(Array.from({ length: 10 }, () => target.sendHeartbeat(next)));
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
  });

  it('ends the present token when the time is over, and the device must be enrolled', async () => {
    const target = await device();
    const { body } = await rotate(target.id);
    const created = await testApp.admin.query('SELECT created_at FROM agent_token_rotation WHERE device_id = $1', [
      target.id,
    ]);
    expect(Date.parse(body.expiresAt) - created.rows[0].created_at.getTime()).toBe(86_400_000);
    await expire(target.id);
    testApp.app.get(AgentRecords, { strict: false }).flush(); // caches an agent for 15 seconds
    expect((await target.sendHeartbeat(target.token)).status).toBe(401);
    expect((await rotate(target.id)).body.code).toBe('agent_token_not_active');
    const enrollmentKey = testApp.credentials.mint({ orgId, partnerId });
    const enrollment = { enrollmentKey, hostname: 'alpha', osType: 'linux', osVersion: '13', architecture: 'arm64' };
    const enrolled = await testApp
      .client()
      .post('/agents/enroll', enrollment)
      .set('x-agent-reenrollment-token', target.token);
    expect([enrolled.status, enrolled.body.deviceId === target.id]).toEqual([201, false]);
  });

  it('ends with an enrollment that proves itself by either token', async () => {
    for (const which of ['present', 'next']) {
      const target = await device();
      await rotate(target.id);
      const proof = which === 'next' ? await offeredTo(target) : target.token;
      const enrollmentKey = testApp.credentials.mint({ orgId, partnerId });
      const enrollment = { enrollmentKey, hostname: 'alpha', osType: 'linux', osVersion: '13', architecture: 'arm64' };
      const enrolled = await testApp
        .client()
        .post('/agents/enroll', enrollment)
        .set('x-agent-reenrollment-token', proof);
      expect([which, enrolled.status, enrolled.body.deviceId]).toEqual([which, 201, target.id]);
      expect((await target.sendHeartbeat(enrolled.body.authToken)).body.commands).toEqual([]);
    }
  });

  it('keeps a running rotation as it is under 10 parallel requests', async () => {
    const target = await device();
    const responses = await Promise.all(Array.from({ length: 10 }, () => rotate(target.id)));
    expect(new Set(responses.map(({ body }) => body.expiresAt)).size).toBe(1);
  });

  it('returns 409 for a device without a token', async () => {
    const pending = await device({ agent_token_hash: null, status: 'pending' });
    expect((await rotate(pending.id)).body.code).toBe('agent_token_not_active');
    const ended = await device({ status: 'decommissioned' });
    expect((await rotate(ended.id)).body.code).toBe('device_decommissioned');
  });

  it('returns 403 without the permission or outside of the sites of the caller, and 404 to another tenant', async () => {
    const { id } = await device();
    const reader = await testApp.clientFor({ partnerId, permissions: ['devices:read'] });
    expect((await rotate(id, reader)).body.code).toBe('permission_denied');
    const member = { scope: 'organization', partnerId, orgId } as const;
    for (const restriction of [{ siteIds: [randomUUID()] }, { deviceGroupIds: [randomUUID()] }]) {
      expect((await rotate(id, await testApp.clientFor({ ...member, ...restriction }))).body.code).toBe(
        'site_access_denied',
      );
    }
    const stranger = await testApp.clientFor({ partnerId: await testApp.createPartner() });
    expect((await rotate(id, stranger)).status).toBe(404);
    expect((await rotate('x')).status).toBe(404);
    expect((await testApp.admin.query('SELECT FROM agent_token_rotation WHERE device_id = $1', [id])).rowCount).toBe(0);
  });
});
