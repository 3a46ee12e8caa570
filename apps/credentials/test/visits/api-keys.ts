import type { CredentialsUnderTest } from '../credentials-under-test.js';

/** Calls each operation of this feature so that it succeeds, those with several shapes once for each. */
export async function visitApiKeys(service: CredentialsUnderTest): Promise<void> {
  const partnerId = await service.partner();
  const orgId = await service.organization(partnerId);
  const owner = await service.as({ partnerId });
  const made = await owner.post('/api-keys', {
    orgId,
    name: 'Ticket system',
    scopes: ['devices:read', 'alerts:read'],
    expiresAt: '2100-01-01T00:00:00.000Z',
    rateLimit: 5000,
    sourceCidrs: ['192.0.2.0/24'],
  });
  const key = `/api-keys/${made.body.id}`;
  const bare = await owner.post('/api-keys', { orgId, name: 'Dashboard' });
  await owner.get(key);
  await owner.get(`/api-keys?orgId=${orgId}&status=active`);
  await owner.patch(key, { name: 'Ticket system, Europe', scopes: ['devices:read'] });
  await owner.post(`${key}/rotate`, { overlapSeconds: 3600 });
  await owner.post(`/api-keys/${bare.body.id}/rotate`);
  await owner.get(`${key}/usage?days=7`);
  await owner.delete(key);
}
