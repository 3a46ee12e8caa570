import { expectStatus, type IdentityReplica } from '../identity-test-app.js';
import { registerPartner, roleId } from '../users.js';

/** Calls each operation of this feature so that it succeeds, those with several shapes once for each. */
export async function callRolesExamples(identity: IdentityReplica): Promise<void> {
  const { bearer } = await registerPartner(identity);
  expectStatus(await identity.get('/permissions/catalog', { bearer }), 200);
  expectStatus(await identity.get('/roles/permissions/available', { bearer }), 200);
  const viewer = await roleId(identity, bearer, 'Partner Viewer');
  const created = await identity.post(
    '/roles',
    { name: 'Helpdesk', parentRoleId: viewer, permissions: [{ resource: 'tickets', action: 'write' }] },
    { bearer },
  );
  const id = expectStatus(created, 201).body.id as string;
  expectStatus(await identity.get(`/roles/${id}`, { bearer }), 200);
  expectStatus(await identity.get(`/roles/${id}/effective-permissions`, { bearer }), 200);
  const admin = await roleId(identity, bearer, 'Partner Admin');
  expectStatus(await identity.get(`/roles/${admin}/users`, { bearer }), 200);
  expectStatus(await identity.patch(`/roles/${id}`, { description: 'First line', forceMfa: true }, { bearer }), 200);
  expectStatus(await identity.post(`/roles/${viewer}/clone`, { name: 'Our viewer' }, { bearer }), 201);
  expectStatus(await identity.delete(`/roles/${id}`, { bearer }), 200);
}
