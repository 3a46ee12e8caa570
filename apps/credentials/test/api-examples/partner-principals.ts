import type { CredentialsTestApp } from '../credentials-test-app.js';

const PATH = '/partner-service-principals';

/** Calls each operation of this feature with success, once for each shape of its response. */
export async function callPartnerPrincipals(service: CredentialsTestApp): Promise<void> {
  const owner = await service.as({ partnerId: await service.createPartner() });
  const created = await owner.post(PATH, {
    name: 'Asset sync',
    description: 'Feeds our asset database',
    scopes: ['organizations:read', 'sites:read', 'devices:read'],
    expiresAt: '2100-01-01T00:00:00.000Z',
    sourceCidrs: ['192.0.2.0/24'],
  });
  const principal = `${PATH}/${created.body.data.id}`;
  const issued = await owner.post(`${principal}/keys`, { name: 'Nightly run', rateLimit: 1200 });
  const rotated = await owner.post(`${principal}/keys/${issued.body.keyId}/rotate`, { name: 'Nightly run, 2nd key' });
  await owner.get(principal);
  const bare = await owner.post(PATH, { name: 'Reports' });
  await owner.get(`${PATH}/${bare.body.data.id}`);
  await owner.get(PATH);
  await owner.patch(principal, { scopes: ['organizations:read', 'sites:read'], expiresAt: null });
  await owner.patch(principal, { status: 'disabled' });
  for (let times = 0; times < 2; times++) await owner.delete(`${principal}/keys/${rotated.body.keyId}`);
}
