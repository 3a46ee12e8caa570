/**
 * Fact `user.mfa_reset` of identity: an administrator took this person's factors and ended its sessions. Whoever keeps
 * something of that person open beyond HTTP (remote sessions, streams) ends it now.
 */
export interface UserMfaReset {
  userId: string;
  /** The person's MFA epoch since then: what was opened under a smaller one is over. */
  mfaEpoch: number;
}

export const USER_MFA_RESET = 'user.mfa_reset';
