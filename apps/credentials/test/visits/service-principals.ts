import type { CredentialsUnderTest } from '../credentials-under-test.js';

/** Calls each operation of this feature so that it succeeds, those with several shapes once for each. */
export async function visitServicePrincipals(service: CredentialsUnderTest): Promise<void> {
  const partnerId = await service.partner();
  const orgId = await service.organization(partnerId);
  const owner = await service.as({ partnerId });
  const scopes = ['devices:read', 'alerts:read'];
  const made = await owner.post('/service-principals', { orgId, name: 'Alert relay', scopes });
  const principal = `/service-principals/${made.body.id}`;
  await owner.get(principal);
  await owner.get(`/service-principals?orgId=${orgId}`);
  await owner.post(`${principal}/rotate`);
  const key = await owner.post('/api-keys', { orgId, name: 'Made by hand', scopes });
  await owner.post(`${principal}/migrate-key`, { keyId: key.body.id });
  await owner.post(`${principal}/disable`);
}
