import type { FakeUser } from '@rmm/testing/fake-identity';
import type { CredentialsTestApp } from './credentials-test-app.js';

/** Creates a partner with one organization of two sites, and clients of its users. */
export async function buildCustomer(service: CredentialsTestApp) {
  const partnerId = await service.createPartner();
  const orgId = await service.createOrganization(partnerId);
  const as = (user: FakeUser = {}) => service.as({ partnerId, ...user });
  return {
    partnerId,
    orgId,
    siteIds: [service.provisioning.addSite(orgId), service.provisioning.addSite(orgId)] as [string, string],
    /** Signs in a member of the partner, by default with all permissions. */
    as,
    /** Signs in a member of the organization. */
    member: (user: FakeUser = {}) => as({ scope: 'organization', orgId, ...user }),
    owner: await as(),
  };
}

export type Customer = Awaited<ReturnType<typeof buildCustomer>>;
export type Client = Customer['owner'];
