import { Injectable } from '@nestjs/common';
import { MfaRequired, toActingCaller, type UserCaller } from '@rmm/access';
import { IDENTITY_SECURITY_POLICY_APPLY, type OrganizationSecurityState } from '@rmm/contracts';
import { AuditTrail, RpcClient } from '@rmm/messaging';
import { currentContext } from '@rmm/service-kit';

/** Applies security policies of organizations, which identity validates and stores. */
@Injectable()
export class OrganizationSecurityService {
  constructor(
    private readonly rpc: RpcClient,
    private readonly audit: AuditTrail,
  ) {}

  /** Checks that the session was verified with a factor, and audits the refusal. @throws MfaRequired */
  async assertMfa(caller: UserCaller, organizationId: string): Promise<void> {
    if (caller.mfa) return;
    const error = new MfaRequired();
    const resource = { type: 'organization', id: organizationId };
    await this.audit.recordDirect(caller, 'security_policy.update', resource, { reason: error.code }, 'denied');
    throw error;
  }

  /**
   * Sends the policy to identity.
   * @param security  as received
   * @param conditions  `isNew`: true before the organization is created; `ifVersion`: the version that must be stored
   * @returns the stored policy, for the copy
   * @throws DomainError  the refusal of identity; UnavailableError when it does not reply
   */
  async apply(
    caller: UserCaller,
    organization: { id: string; partnerId: string; name: string },
    security: unknown,
    { isNew = false, ifVersion }: { isNew?: boolean; ifVersion?: number } = {},
  ): Promise<OrganizationSecurityState> {
    const context = currentContext();
    const applied = await this.rpc.call(IDENTITY_SECURITY_POLICY_APPLY, {
      orgId: organization.id,
      partnerId: organization.partnerId,
      orgName: organization.name,
      isNew,
      security,
      ifVersion,
      caller: toActingCaller(caller),
      ipAddress: context?.ipAddress ?? null,
      userAgent: context?.userAgent ?? null,
    });
    return { orgId: organization.id, partnerId: organization.partnerId, ...applied };
  }
}
