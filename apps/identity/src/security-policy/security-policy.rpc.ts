import { Controller } from '@nestjs/common';
import { IDENTITY_SECURITY_POLICY_APPLY, type ApplySecurityPolicyRequest } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { currentContext, runInContext } from '@rmm/service-kit';
import { randomUUID } from 'node:crypto';
import { OrganizationPoliciesService, type AppliedPolicy } from './organization-policies.service.js';

/** Provisioning hands over `settings.security` of the organizations it serves. */
@Controller()
export class SecurityPolicyRpc {
  constructor(private readonly policies: OrganizationPoliciesService) {}

  /** Under the address and agent of the person who asked, so that the audit row names them. */
  @RpcHandler(IDENTITY_SECURITY_POLICY_APPLY)
  apply(request: ApplySecurityPolicyRequest): Promise<AppliedPolicy> {
    const { ipAddress, userAgent } = request;
    const context = { requestId: randomUUID(), ...currentContext() };
    return runInContext({ ...context, ipAddress: ipAddress ?? undefined, userAgent: userAgent ?? undefined }, () =>
      this.policies.apply(request),
    );
  }
}
