import { MfaRequired, type UserCaller } from '@rmm/access';
import { Injectable } from '@nestjs/common';
import { IDENTITY_SECURITY_POLICY_APPLY, type OrganizationSecurityState } from '@rmm/contracts';
import { AuditTrail, RpcClient } from '@rmm/messaging';
import { currentContext } from '@rmm/service-kit';

/** The security policies of organizations, which are identity's to judge and to store. @see CONTRACT.md 1.8 */
@Injectable()
export class SecurityPolicies {
  constructor(
    private readonly rpc: RpcClient,
    private readonly audit: AuditTrail,
  ) {}

  /** Before anything is looked at. @throws MfaRequired */
  async assertProven(caller: UserCaller, id: string): Promise<void> {
    if (caller.mfa) return;
    const error = new MfaRequired();
    const resource = { type: 'organization', id };
    await this.audit.recordDirect(caller, 'security_policy.update', resource, { reason: error.code }, 'denied');
    throw error;
  }

  /**
   * @param security  the part as it came over the wire
   * @returns what is stored now, for the copy
   * @throws what identity refuses with, as it is; UnavailableError when it cannot be asked
   */
  async apply(
    { userId, email, scope, partnerId, orgId, mfa }: UserCaller,
    organization: { id: string; partnerId: string; name: string },
    security: unknown,
  ): Promise<OrganizationSecurityState> {
    const context = currentContext();
    const applied = await this.rpc.call(IDENTITY_SECURITY_POLICY_APPLY, {
      orgId: organization.id,
      partnerId: organization.partnerId,
      orgName: organization.name,
      security,
      caller: { userId, email, scope, partnerId, orgId, mfa },
      ipAddress: context?.ipAddress ?? null,
      userAgent: context?.userAgent ?? null,
    });
    return { orgId: organization.id, partnerId: organization.partnerId, ...applied };
  }
}
