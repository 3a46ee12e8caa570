/** `settings.security` of an organization as it is stored and shown; a field that is not set is absent. */
export interface OrganizationSecurity {
  requireMfa?: boolean;
  allowedMfaMethods?: { totp?: boolean; sms?: boolean };
  /** The longest life of a session, 1 to 2160 hours. */
  sessionLifetimeHours?: number;
  /** The fewest characters of a password, 8 to 128. */
  passwordMinLength?: number;
}

/** The policy of a partner, which applies to the partner itself and all its organizations. */
export interface PartnerSecurity extends OrganizationSecurity {
  /** 0 to 30 days. */
  mfaEnrollmentGraceDays?: number;
  /** Addresses and CIDR ranges in canonical spelling; empty means off. */
  ipAllowlist?: string[];
}

/** `data` of `organization.security_policy_updated`. */
export interface OrganizationSecurityState {
  orgId: string;
  partnerId: string;
  security: OrganizationSecurity;
  /** Rises with every change of this policy. */
  version: number;
}
