import type { AccessSnapshot } from '@rmm/contracts';
import { UnavailableError } from '@rmm/service-kit';
import { PartnerInactive, PartnerNotFound, TenantInactive } from '../access.errors.js';
import { type DirectoryOrganization, isLive } from '../directory/directory-organization.js';

type Find = (orgId: string) => Promise<DirectoryOrganization | null>;

/** 503: the state of a tenant cannot be read now. */
class PartnerLookupUnavailable extends UnavailableError {
  override code = 'partner_lookup_unavailable';
}

/** Step 5 of CONTRACT.md 2.4: is the tenant behind the session in business? */
export class TenantStatusCheck {
  constructor(
    private readonly findOrganization: Find,
    private readonly publicAppUrl: string,
  ) {}

  /** @throws PartnerNotFound, PartnerInactive, TenantInactive  403 */
  async check(snapshot: AccessSnapshot): Promise<void> {
    if (snapshot.scope === 'system') return;
    this.checkPartner(snapshot);
    if (snapshot.scope === 'organization') await this.checkOrganization(snapshot);
  }

  private checkPartner({ partnerStatus: status, scope }: AccessSnapshot): void {
    if (status === null) throw new PartnerNotFound();
    if (status === 'active' || (status === 'pending' && scope === 'partner')) return;
    throw new PartnerInactive({ status, ...this.wayOut(status) });
  }

  private async checkOrganization({ orgId, partnerId }: AccessSnapshot): Promise<void> {
    const organization = orgId === null ? null : await this.find(orgId);
    if (organization === null || !isLive(organization)) throw new TenantInactive();
    if (organization.partnerId !== partnerId) throw new PartnerNotFound();
  }

  private async find(orgId: string): Promise<DirectoryOrganization | null> {
    try {
      return await this.findOrganization(orgId);
    } catch (cause) {
      throw new PartnerLookupUnavailable(undefined, { cause });
    }
  }

  private wayOut(status: string): { actionUrl: string; actionLabel: string } {
    return status === 'pending'
      ? { actionUrl: `${this.publicAppUrl}/verify-email`, actionLabel: 'Verify your e-mail address' }
      : { actionUrl: `${this.publicAppUrl}/account/inactive`, actionLabel: 'See what can be done' };
  }
}
