import type { AccessScope } from '@rmm/contracts';

export const ACCESS_SCOPES = ['system', 'partner', 'organization'] as const satisfies readonly AccessScope[];

/** The partner's organizations a partner member has access to. */
export const ORG_ACCESS = ['all', 'selected', 'none'] as const;
export type OrgAccess = (typeof ORG_ACCESS)[number];

/** A membership is pending until its user accepts the invitation. */
export const MEMBERSHIP_STATUSES = ['pending', 'active'] as const;
export type MembershipStatus = (typeof MEMBERSHIP_STATUSES)[number];

/** One way a user may act: system scope, a partner, or an organization. */
export interface Membership {
  scope: AccessScope;
  partnerId: string | null;
  orgId: string | null;
  roleId: string | null;
  roleName: string | null;
  partnerName: string | null;
  orgName: string | null;
  createdAt: Date;
  /** When a session last entered it; null in system scope. */
  lastEnteredAt: Date | null;
}

/** Identifies a membership; a session stores it. */
export type MembershipKey = Pick<Membership, 'scope' | 'partnerId' | 'orgId'>;

/**
 * Returns the memberships in the order in which a login enters them: system scope, the one entered last, the oldest. No
 * tenant can put itself first by inviting a user.
 */
export const sortMemberships = <M extends Membership>(memberships: readonly M[]): M[] =>
  [...memberships].sort(
    (a, b) =>
      Number(b.scope === 'system') - Number(a.scope === 'system') ||
      (b.lastEnteredAt?.getTime() ?? 0) - (a.lastEnteredAt?.getTime() ?? 0) ||
      a.createdAt.getTime() - b.createdAt.getTime(),
  );

export const sameMembership = (a: MembershipKey, b: MembershipKey): boolean =>
  a.scope === b.scope && a.partnerId === b.partnerId && a.orgId === b.orgId;
