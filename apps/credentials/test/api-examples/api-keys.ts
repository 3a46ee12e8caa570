import type { CredentialsTestApp } from '../credentials-test-app.js';

/** Calls each operation of this feature with success, once for each shape of its response. */
export async function callApiKeys(service: CredentialsTestApp): Promise<void> {
  const partnerId = await service.createPartner();
  const orgId = await service.createOrganization(partnerId);
  const owner = await service.as({ partnerId });
  const created = await owner.post('/api-keys', {
    orgId,
    name: 'Ticket system',
    scopes: ['devices:read', 'alerts:read'],
    expiresAt: '2100-01-01T00:00:00.000Z',
    rateLimit: 5000,
    sourceCidrs: ['192.0.2.0/24'],
  });
  const key = `/api-keys/${created.body.id}`;
  const bare = await owner.post('/api-keys', { orgId, name: 'Dashboard' });
  await owner.get(key);
  await owner.get(`/api-keys?orgId=${orgId}&status=active`);
  await owner.patch(key, { name: 'Ticket system, Europe', scopes: ['devices:read'] });
  await owner.post(`${key}/rotate`, { overlapSeconds: 3600 });
  await owner.post(`/api-keys/${bare.body.id}/rotate`);
  await owner.get(`${key}/usage?days=7`);
  await owner.delete(key);
}
