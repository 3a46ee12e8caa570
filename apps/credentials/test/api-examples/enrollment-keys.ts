import type { CredentialsTestApp } from '../credentials-test-app.js';

/** Calls each operation of this feature with success, once for each shape of its response. */
export async function callEnrollmentKeys(service: CredentialsTestApp): Promise<void> {
  const partnerId = await service.createPartner();
  const orgId = await service.createOrganization(partnerId);
  const owner = await service.as({ partnerId });
  const siteId = service.provisioning.addSite(orgId);
  const body = { orgId, siteId, name: 'Head office laptops', maxUsage: 50, ttlMinutes: 10_080 };
  const created = await owner.post('/enrollment-keys', body);
  const key = `/enrollment-keys/${created.body.id}`;
  const bare = await owner.post('/enrollment-keys', { orgId, name: 'Single use' });
  await owner.get(key);
  await owner.get(`/enrollment-keys?orgId=${orgId}`);
  await owner.post(`${key}/rotate`, { maxUsage: null });
  await owner.delete(key);
  await service.admin.query(`UPDATE enrollment_key SET expires_at = now() - interval '1 hour' WHERE id = $1`, [
    bare.body.id,
  ]);
  await owner.get('/enrollment-keys?expired=true');
  await owner.post('/enrollment-keys/purge-expired', { orgId });
}
