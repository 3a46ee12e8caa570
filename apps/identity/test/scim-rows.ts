import { randomUUID } from 'node:crypto';
import type { ScimCaller } from '@rmm/access';
import type { IdentityTestDatabase } from './identity-test-database.js';

/** A provider of a new organization, and its SCIM client. */
export async function createScimCaller(
  database: IdentityTestDatabase,
  partner?: string,
  organization?: string,
): Promise<ScimCaller> {
  const partnerId = partner ?? (await database.createPartner());
  const orgId = organization ?? (await database.createOrganization(partnerId));
  const providerId = await database.insert('sso_provider', {
    ...{ id: randomUUID(), partner_id: partnerId, org_id: orgId, name: 'Entra ID', type: 'oidc' },
  });
  return {
    ...{ kind: 'scim', actor: { type: 'system', id: null }, tokenId: randomUUID(), providerId, partnerId, orgId },
    tenant: { scope: 'organization', partnerId, orgId, orgAccess: 'none', orgIds: [], userId: null },
  };
}

/** Columns of the owner, as rows of SCIM have them. */
export const ownedBy = ({ partnerId, orgId, providerId }: ScimCaller) => ({
  ...{ partner_id: partnerId, org_id: orgId, provider_id: providerId },
});

let users = 0;

/** A user of SCIM with an account; the later of two has the later time. @returns the id of the resource */
export async function createScimUser(
  database: IdentityTestDatabase,
  caller: ScimCaller,
  values: Record<string, unknown> = {},
): Promise<string> {
  const n = ++users;
  const email = `scim-${n}@users.test`;
  return database.insert('scim_user', {
    ...{ user_id: await database.createUser({ email }), user_name: email, email, active: true, owns_account: true },
    ...{ settings_version: 1, created_at: new Date(Date.UTC(2026, 0, 1, 0, 0, n)), ...ownedBy(caller), ...values },
  });
}
