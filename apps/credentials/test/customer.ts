import type { FakeUser } from '@rmm/testing/fake-identity';
import type { CredentialsUnderTest } from './credentials-under-test.js';

/** A fresh partner with one organization of two sites, and whoever signs in there. */
export async function makeCustomer(service: CredentialsUnderTest) {
  const partnerId = await service.partner();
  const orgId = await service.organization(partnerId);
  const as = (person: FakeUser = {}) => service.as({ partnerId, ...person });
  return {
    partnerId,
    orgId,
    siteIds: [service.provisioning.site(orgId), service.provisioning.site(orgId)] as [string, string],
    /** A member of the partner, who may do everything unless said otherwise. */
    as,
    /** A member of the organization. */
    member: (person: FakeUser = {}) => as({ scope: 'organization', orgId, ...person }),
    owner: await as(),
  };
}

export type Customer = Awaited<ReturnType<typeof makeCustomer>>;
export type Client = Customer['owner'];
