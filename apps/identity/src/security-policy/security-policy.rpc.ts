import { Controller } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { IDENTITY_SECURITY_POLICY_APPLY, type ApplySecurityPolicyRequest } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { currentContext, runInContext } from '@rmm/service-kit';
import { AccessSourceService } from '../access/access-source.service.js';
import { SecurityPoliciesService, type AppliedPolicy } from './security-policies.service.js';

/** Handles changes of `settings.security` of organizations, which provisioning receives. */
@Controller()
export class SecurityPolicyRpc {
  constructor(
    private readonly policies: SecurityPoliciesService,
    private readonly access: AccessSourceService,
  ) {}

  /** Runs with the IP address and user agent of the user, so that the audit entry has them. */
  @RpcHandler(IDENTITY_SECURITY_POLICY_APPLY)
  apply(request: ApplySecurityPolicyRequest): Promise<AppliedPolicy> {
    const { ipAddress, userAgent } = request;
    const context = { requestId: randomUUID(), ...currentContext() };
    return runInContext(
      { ...context, ipAddress: ipAddress ?? undefined, userAgent: userAgent ?? undefined },
      async () => this.policies.apply(await this.access.getOrganizationEditor(request.caller, request), request),
    );
  }
}
