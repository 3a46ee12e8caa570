import type { AccessSnapshot } from '@rmm/contracts';
import { snapshot } from '../../test/callers.js';
import { CONFIG } from '../../test/fakes.js';
import { ORG_ID, PARTNER_ID } from '../../test/tokens.js';
import { PartnerInactive, PartnerNotFound, TenantInactive } from '../access.errors.js';
import type { DirectoryOrganization } from '../directory/directory-organization.js';
import type { OrganizationDirectory } from '../directory/organization-directory.service.js';
import { TenantStatusCheck } from './tenant-status-check.service.js';

const ORGANIZATION: DirectoryOrganization = {
  orgId: ORG_ID,
  partnerId: PARTNER_ID,
  name: 'A',
  slug: 'a',
  status: 'active',
  deleted: false,
  version: 1,
};

describe('TenantStatusCheck', () => {
  const find = jest.fn<Promise<DirectoryOrganization | null>, [string]>();
  const check = new TenantStatusCheck({ find } as unknown as OrganizationDirectory, CONFIG);
  const assertActive = async (changes: Partial<AccessSnapshot>) => check.assertActive(snapshot(changes));
  const member = { scope: 'organization', orgId: ORG_ID } as const;

  beforeEach(() => find.mockReset().mockResolvedValue(ORGANIZATION));

  it('accepts platform administrators without a look at any tenant', async () => {
    await assertActive({ scope: 'system', partnerId: null, partnerStatus: null });
    expect(find).not.toHaveBeenCalled();
  });

  it('accepts members of active partners and organizations', async () => {
    await assertActive({});
    await assertActive(member);
    find.mockResolvedValue({ ...ORGANIZATION, status: 'trial' });
    await assertActive(member);
    expect(find).toHaveBeenCalledTimes(2);
  });

  it('accepts members of a pending partner, but not those of its organizations', async () => {
    await assertActive({ partnerStatus: 'pending' });
    await expect(assertActive({ ...member, partnerStatus: 'pending' })).rejects.toBeInstanceOf(PartnerInactive);
  });

  it('refuses an inactive partner with a link to the reason', async () => {
    await expect(assertActive({ partnerStatus: 'suspended' })).rejects.toMatchObject({
      code: 'partner_inactive',
      extras: { status: 'suspended', actionUrl: 'https://app.example/inactive' },
    });
    await expect(assertActive({ partnerStatus: null })).rejects.toBeInstanceOf(PartnerNotFound);
  });

  it.each([
    ['unknown', null],
    ['deleted', { ...ORGANIZATION, deleted: true }],
    ['suspended', { ...ORGANIZATION, status: 'suspended' as const }],
  ])('refuses an organization that is %s', async (_, organization) => {
    find.mockResolvedValue(organization);
    await expect(assertActive(member)).rejects.toBeInstanceOf(TenantInactive);
  });

  it('refuses an organization of another partner', async () => {
    find.mockResolvedValue({ ...ORGANIZATION, partnerId: '99999999-9999-4999-8999-999999999999' });
    await expect(assertActive(member)).rejects.toBeInstanceOf(PartnerNotFound);
  });

  it('throws 503 when the status of the organization cannot be read', async () => {
    find.mockRejectedValue(new Error('no connection'));
    await expect(assertActive(member)).rejects.toMatchObject({ status: 503, code: 'partner_lookup_unavailable' });
  });
});
