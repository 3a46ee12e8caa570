import type { CredentialsTestApp } from '../credentials-test-app.js';

/** Calls each operation of this feature with success, once for each shape of its response. */
export async function callServicePrincipals(service: CredentialsTestApp): Promise<void> {
  const partnerId = await service.createPartner();
  const orgId = await service.createOrganization(partnerId);
  const owner = await service.as({ partnerId });
  const scopes = ['devices:read', 'alerts:read'];
  const created = await owner.post('/service-principals', { orgId, name: 'Alert relay', scopes });
  const principal = `/service-principals/${created.body.id}`;
  await owner.get(principal);
  await owner.get(`/service-principals?orgId=${orgId}`);
  await owner.post(`${principal}/rotate`);
  const key = await owner.post('/api-keys', { orgId, name: 'Made by hand', scopes });
  await owner.post(`${principal}/migrate-key`, { keyId: key.body.id });
  await owner.post(`${principal}/disable`);
}
