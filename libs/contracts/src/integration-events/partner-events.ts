export type PartnerStatus = 'pending' | 'active' | 'suspended' | 'churned' | 'offboarding';

/** Fact `partner.created` and `partner.updated` of identity. */
export interface PartnerState {
  partnerId: string;
  name: string;
  slug: string;
  status: PartnerStatus;
  /** Caps; null means none. */
  maxOrganizations: number | null;
  maxDevices: number | null;
  timezone: string;
  settings: { enrollment?: { maxTtlMinutes?: number } };
  version: number;
  /** True when provisioning is to make the first organization and site (sign-up). */
  makeFirstOrganization?: boolean;
}

export const PARTNER_CREATED = 'partner.created';
export const PARTNER_UPDATED = 'partner.updated';
