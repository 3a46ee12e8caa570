import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { MfaRequired, type UserCaller } from '@rmm/access';
import { type AccessScope, type ApplySecurityPolicyRequest, type OrganizationSecurity } from '@rmm/contracts';
import { AuditTrail, Outbox, type AuditedCaller, type AuditedResource } from '@rmm/messaging';
import { TenantDatabase, type HasTenant, type TenantTransaction } from '@rmm/persistence';
import { currentContext, NotFoundError } from '@rmm/service-kit';
import { cidrsContain, parseCidr } from '@rmm/validation';
import { AccessChangesService } from '../access/access-changes.service.js';
import { PartnersRepository } from '../partners/partners.repository.js';
import { readOrganizationChange, readPartnerChange } from './dto/security-policy.dto.js';
import { LockOutPolicy, type PolicyVersions } from './lock-out.policy.js';
import { SecurityPoliciesRepository } from './security-policies.repository.js';
import {
  IpAllowlistWouldLockOutCaller,
  MfaNoMethodAvailable,
  MfaPolicyWouldLockOutUsers,
} from './security-policy.errors.js';
import { changePolicy, type PolicyChange } from './security-policy.js';

/** The caller of a policy change. */
export interface PolicyEditor extends AuditedCaller {
  scope: AccessScope;
  mfa: boolean;
}

export interface AppliedPolicy {
  security: OrganizationSecurity;
  version: number;
}

const ACTION = 'security_policy.update';

/** Security policies of partners and organizations. @see docs/reference/mfa-and-policies.md */
@Injectable()
export class SecurityPoliciesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly repository: SecurityPoliciesRepository,
    private readonly partners: PartnersRepository,
    private readonly lockOut: LockOutPolicy,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly accessChanges: AccessChangesService,
  ) {}

  /**
   * Applies a change of an organization's policy that provisioning asks for: checks, stores and publishes it.
   * @param editor  resolved by the session, with access to the organization
   * @throws MfaRequired, ValidationError, NotFoundError, MfaNoMethodAvailable, MfaPolicyWouldLockOutUsers
   */
  async apply(editor: UserCaller, request: ApplySecurityPolicyRequest): Promise<AppliedPolicy> {
    const resource = resourceOf(request);
    await this.assertMfa(editor, resource);
    const change = readOrganizationChange(request.security);
    return this.refusingLockOut(editor, resource, () =>
      this.tenants.transaction(tenantOfPolicy(editor, request), (tx) => this.applyIn(tx, request, editor, change)),
    );
  }

  /**
   * Runs a change of a partner's policy, while no other policy of the partner changes.
   * @param raw the new `settings.security`
   * @throws MfaRequired, ValidationError, IpAllowlistWouldLockOutCaller, MfaNoMethodAvailable,
   *   MfaPolicyWouldLockOutUsers
   */
  async changePartnerPolicy<T>(
    caller: UserCaller,
    partnerId: string,
    raw: unknown,
    change: (tx: TenantTransaction, policy: PolicyChange | null) => Promise<T>,
  ): Promise<T> {
    const resource = { type: 'partner', id: partnerId, partnerId, orgId: null };
    await this.assertMfa(caller, resource);
    const policy = readPartnerChange(raw);
    await this.assertCallerAllowed(caller, resource, policy?.ipAllowlist ?? []);
    return this.refusingLockOut(caller, resource, () =>
      this.tenants.transaction(caller, async (tx) => {
        await this.repository.lockForChange(tx, partnerId);
        return change(tx, policy);
      }),
    );
  }

  /** Records the audit entry of a change, in its transaction. */
  async record(
    tx: TenantTransaction,
    editor: PolicyEditor,
    resource: AuditedResource,
    { before, after }: PolicyVersions,
  ): Promise<void> {
    await this.audit.record(tx, editor, ACTION, resource, { before, after });
  }

  private async applyIn(
    tx: TenantTransaction,
    request: ApplySecurityPolicyRequest,
    editor: PolicyEditor,
    change: PolicyChange | null,
  ): Promise<AppliedPolicy> {
    const { orgId, partnerId } = request;
    await this.repository.lockForChange(tx, partnerId);
    const partnerPolicy = await this.partners.findSecurity(tx, partnerId);
    if (!partnerPolicy) throw new NotFoundError('Organization');
    const { security: before, version: storedVersion } = await this.repository.find(tx, orgId);
    const after = changePolicy(before, change);
    if (isDeepStrictEqual(before, after)) return { security: before, version: storedVersion };

    const affected = { partnerId, partnerPolicy, organization: { orgId, policy: after } };
    await this.lockOut.assertNoLockOut(tx, { before, after }, affected);
    const version = await this.repository.save(tx, { orgId, partnerId, security: after });
    if (version === null) throw new NotFoundError('Organization');
    await this.accessChanges.publish(tx, { orgIds: [orgId], reason: 'security_policy' });
    await this.outbox.publish(tx, {
      stream: 'internal',
      type: 'organization.security_policy_updated',
      aggregateId: orgId,
      aggregateVersion: version,
      partnerId,
      orgId,
      actor: editor.actor,
      data: { orgId, partnerId, security: after, version },
    });
    await this.record(tx, editor, resourceOf(request), { before, after });
    return { security: after, version };
  }

  private async assertMfa(editor: PolicyEditor, resource: AuditedResource): Promise<void> {
    if (!editor.mfa) await this.refuse(editor, resource, new MfaRequired());
  }

  /** An allowlist does not apply to system callers, so it locks none of them out. */
  private async assertCallerAllowed(
    editor: PolicyEditor,
    resource: AuditedResource,
    allowlist: readonly string[],
  ): Promise<void> {
    if (allowlist.length === 0 || editor.scope === 'system') return;
    const address = currentContext()?.ipAddress;
    const ranges = allowlist.map(parseCidr).filter((range) => range !== null);
    if (address !== undefined && cidrsContain(ranges, address)) return;
    await this.refuse(editor, resource, new IpAllowlistWouldLockOutCaller());
  }

  private async refusingLockOut<T>(
    editor: PolicyEditor,
    resource: AuditedResource,
    change: () => Promise<T>,
  ): Promise<T> {
    try {
      return await change();
    } catch (error) {
      if (error instanceof MfaNoMethodAvailable || error instanceof MfaPolicyWouldLockOutUsers) {
        await this.refuse(editor, resource, error);
      }
      throw error;
    }
  }

  /** Records the audit entry of a refusal. @throws the given error */
  private async refuse(
    editor: PolicyEditor,
    resource: AuditedResource,
    error: MfaRequired | IpAllowlistWouldLockOutCaller | MfaNoMethodAvailable | MfaPolicyWouldLockOutUsers,
  ): Promise<never> {
    const details = { reason: error.code, ...error.extras };
    await this.audit.recordDirect(editor, ACTION, resource, details, 'denied');
    throw error;
  }
}

const resourceOf = ({ orgId, partnerId, orgName }: ApplySecurityPolicyRequest) => ({
  type: 'organization',
  id: orgId,
  name: orgName,
  orgId,
  partnerId,
});

/** Limits the transaction to the partner's own rows and those of the one organization, also for system callers. */
const tenantOfPolicy = ({ userId }: UserCaller, { partnerId, orgId }: ApplySecurityPolicyRequest): HasTenant => ({
  tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'selected', orgIds: [orgId], userId },
});
