import { Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { currentContext, ForbiddenError } from '@rmm/service-kit';
import { cidrsContain, parseCidr } from '@rmm/validation';
import { selfCaller } from '../audit/actors.js';
import type { User, UserMembership } from '../users/user.js';

export class IpNotAllowed extends ForbiddenError {
  override code = 'ip_not_allowed';
  override error = 'Address not allowed';
}

/** The part of a membership that decides about addresses. */
export type EnteredTenant = Pick<UserMembership, 'scope' | 'partnerId' | 'orgId' | 'partnerSecurity'>;

/** The list of addresses from which the members of a partner may act. Only the tenant that a user enters applies its own. */
@Injectable()
export class AddressListPolicy {
  constructor(private readonly audit: AuditTrail) {}

  /** Checks the address of the request, before a session enters the membership. @throws IpNotAllowed */
  async assertAllowed(user: Pick<User, 'id' | 'email'>, membership: EnteredTenant): Promise<void> {
    const list = membership.partnerSecurity?.ipAllowlist ?? [];
    if (membership.scope === 'system' || list.length === 0) return;
    const address = currentContext()?.ipAddress;
    const ranges = list.map(parseCidr).filter((range) => range !== null);
    if (address !== undefined && cidrsContain(ranges, address)) return;
    await this.audit.recordDirect(
      selfCaller(user, membership),
      'ip_allowlist.denied',
      { type: 'user', id: user.id },
      { during: 'login' },
      'denied',
    );
    throw new IpNotAllowed();
  }
}
