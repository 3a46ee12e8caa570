import type { AccessScope } from '@rmm/contracts';

export const ACCESS_SCOPES = ['system', 'partner', 'organization'] as const satisfies readonly AccessScope[];

/** The partner's organizations a partner member has access to. */
export const ORG_ACCESS = ['all', 'selected', 'none'] as const;
export type OrgAccess = (typeof ORG_ACCESS)[number];

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
}

/** Identifies a membership; a session stores it. */
export type MembershipKey = Pick<Membership, 'scope' | 'partnerId' | 'orgId'>;

const RANK: Record<AccessScope, number> = { system: 0, organization: 1, partner: 2 };

/** Returns system scope first, then organizations, then partners, each oldest first. */
export const sortMemberships = <M extends Membership>(memberships: readonly M[]): M[] =>
  [...memberships].sort((a, b) => RANK[a.scope] - RANK[b.scope] || a.createdAt.getTime() - b.createdAt.getTime());

export const sameMembership = (a: MembershipKey, b: MembershipKey): boolean =>
  a.scope === b.scope && a.partnerId === b.partnerId && a.orgId === b.orgId;
