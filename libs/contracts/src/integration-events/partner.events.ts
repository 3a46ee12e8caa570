export type PartnerStatus = 'pending' | 'active' | 'suspended' | 'churned' | 'offboarding';

/** `data` of `partner.created` and `partner.updated`. */
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
  /** True at sign-up: provisioning creates the first organization and site of the partner. */
  createFirstOrganization?: boolean;
}
