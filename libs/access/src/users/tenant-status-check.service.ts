import { Inject, Injectable } from '@nestjs/common';
import type { AccessSnapshot } from '@rmm/contracts';
import { ACCESS_CONFIG, type AccessConfig } from '../access.config.js';
import { PartnerInactive, PartnerLookupUnavailable, PartnerNotFound, TenantInactive } from '../access.errors.js';
import { type DirectoryOrganization, isLive } from '../directory/directory-organization.js';
import { OrganizationDirectory } from '../directory/organization-directory.service.js';

/** Checks that the partner and the organization of a session are active. */
@Injectable()
export class TenantStatusCheck {
  constructor(
    private readonly directory: OrganizationDirectory,
    @Inject(ACCESS_CONFIG) private readonly config: Pick<AccessConfig, 'publicAppUrl'>,
  ) {}

  /**
   * Returns a promise only where an organization has to be looked up.
   * @throws PartnerNotFound, PartnerInactive, TenantInactive  403; PartnerLookupUnavailable 503
   */
  assertActive(snapshot: AccessSnapshot): Promise<void> | undefined {
    if (snapshot.scope === 'system') return undefined;
    this.assertPartnerActive(snapshot);
    return snapshot.scope === 'organization' ? this.assertOrganizationActive(snapshot) : undefined;
  }

  private assertPartnerActive({ partnerStatus: status, scope }: AccessSnapshot): void {
    if (status === null) throw new PartnerNotFound();
    if (status === 'active' || (status === 'pending' && scope === 'partner')) return;
    throw new PartnerInactive({ status, ...this.actionFor(status) });
  }

  private async assertOrganizationActive({ orgId, partnerId }: AccessSnapshot): Promise<void> {
    const organization = orgId === null ? null : await this.findOrganization(orgId);
    if (organization === null || !isLive(organization)) throw new TenantInactive();
    if (organization.partnerId !== partnerId) throw new PartnerNotFound();
  }

  private async findOrganization(orgId: string): Promise<DirectoryOrganization | null> {
    try {
      return await this.directory.find(orgId);
    } catch (cause) {
      throw new PartnerLookupUnavailable(undefined, { cause });
    }
  }

  /** Returns the link that the error response offers to the user. */
  private actionFor(status: string): { actionUrl: string; actionLabel: string } {
    const { publicAppUrl } = this.config;
    return status === 'pending'
      ? { actionUrl: `${publicAppUrl}/verify-email`, actionLabel: 'Verify your e-mail address' }
      : { actionUrl: `${publicAppUrl}/inactive`, actionLabel: 'See what can be done' };
  }
}
