import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { MfaRequired, type UserCaller } from '@rmm/access';
import {
  type AccessScope,
  type ApplySecurityPolicyRequest,
  type OrganizationSecurity,
  type PartnerSecurity,
} from '@rmm/contracts';
import { AuditTrail, Outbox, type AuditedCaller, type AuditedResource } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase, type HasTenant, type TenantTransaction } from '@rmm/persistence';
import { currentContext, NotFoundError } from '@rmm/service-kit';
import { cidrsContain, parseCidr } from '@rmm/validation';
import { AccessChangesService } from '../access/access-changes.service.js';
import { actorOf } from '../audit/actors.js';
import { PartnersRepository } from '../partners/partners.repository.js';
import type { UserMembership } from '../users/user.js';
import { UsersRepository } from '../users/users.repository.js';
import { readOrganizationChange, readPartnerChange } from './dto/security-policy.dto.js';
import { SecurityPoliciesRepository, type AffectedMembers } from './security-policies.repository.js';
import { IpAllowlistWouldLockOutCaller, MfaPolicyWouldLockOutUsers } from './security-policy.errors.js';
import { changePolicy, tightensMfa, type PolicyChange } from './security-policy.js';

/** The caller of a policy change. */
export interface PolicyEditor extends AuditedCaller {
  scope: AccessScope;
  mfa: boolean;
}

export interface PolicyVersions {
  before: PartnerSecurity;
  after: PartnerSecurity;
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
    private readonly worker: WorkerDatabase,
    private readonly repository: SecurityPoliciesRepository,
    private readonly partners: PartnersRepository,
    private readonly users: UsersRepository,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly accessChanges: AccessChangesService,
  ) {}

  /**
   * Applies a change of an organization's policy that provisioning asks for: checks, stores and publishes it.
   * @throws MfaRequired, ValidationError, NotFoundError, MfaPolicyWouldLockOutUsers
   */
  async apply(request: ApplySecurityPolicyRequest): Promise<AppliedPolicy> {
    const editor = editorOf(request);
    const resource = resourceOf(request);
    await this.assertMfa(editor, resource);
    assertOwnTenant(request);
    const change = readOrganizationChange(request.security);
    return this.refusingLockOut(editor, resource, () =>
      this.tenants.transaction(tenantOf(request), (tx) => this.applyIn(tx, request, editor, change)),
    );
  }

  /**
   * Runs a change of a partner's policy, while no other policy of the partner changes.
   * @param raw the new `settings.security`
   * @throws MfaRequired, ValidationError, IpAllowlistWouldLockOutCaller, MfaPolicyWouldLockOutUsers
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

  /** @throws MfaPolicyWouldLockOutUsers, unless the change is no stricter than before */
  async assertNoUserLockedOut(
    tx: TenantTransaction,
    { before, after }: PolicyVersions,
    affected: AffectedMembers,
  ): Promise<void> {
    if (!tightensMfa(before, after)) return;
    const lockedOut = await this.repository.countLockedOut(tx, affected);
    if (lockedOut.count > 0) throw new MfaPolicyWouldLockOutUsers(lockedOut);
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

  /**
   * Runs a change of a user's own factors while the policies that apply to the user stay as they are. Call it outside
   * of any transaction; `change` runs its own.
   * @param change receives the user's memberships
   */
  async withStablePolicies<T>(userId: string, change: (memberships: UserMembership[]) => Promise<T>): Promise<T> {
    return this.worker.transaction(async (tx) => {
      await this.repository.lockPoliciesOf(tx, userId);
      const user = await this.users.findById(tx, userId);
      return change(user?.memberships ?? []);
    });
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
    await this.assertNoUserLockedOut(tx, { before, after }, affected);
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
      if (error instanceof MfaPolicyWouldLockOutUsers) await this.refuse(editor, resource, error);
      throw error;
    }
  }

  /** Records the audit entry of a refusal. @throws the given error */
  private async refuse(
    editor: PolicyEditor,
    resource: AuditedResource,
    error: MfaRequired | IpAllowlistWouldLockOutCaller | MfaPolicyWouldLockOutUsers,
  ): Promise<never> {
    const details = { reason: error.code, ...error.extras };
    await this.audit.recordDirect(editor, ACTION, resource, details, 'denied');
    throw error;
  }
}

const editorOf = ({ caller }: ApplySecurityPolicyRequest): PolicyEditor => ({
  actor: actorOf({ id: caller.userId, email: caller.email }),
  tenant: { partnerId: caller.partnerId, orgId: caller.orgId },
  scope: caller.scope,
  mfa: caller.mfa,
});

const resourceOf = ({ orgId, partnerId, orgName }: ApplySecurityPolicyRequest) => ({
  type: 'organization',
  id: orgId,
  name: orgName,
  orgId,
  partnerId,
});

/** Limits the transaction to the partner's own rows and those of the one organization, also for system callers. */
const tenantOf = ({ caller, partnerId, orgId }: ApplySecurityPolicyRequest): HasTenant => ({
  tenant: {
    scope: 'partner',
    partnerId,
    orgId: null,
    orgAccess: 'selected',
    orgIds: [orgId],
    userId: caller.userId,
  },
});

/** Provisioning has checked it already; a mistake there must not affect another tenant. @throws NotFoundError */
function assertOwnTenant({ caller, orgId, partnerId }: ApplySecurityPolicyRequest): void {
  const foreignPartner = caller.scope !== 'system' && caller.partnerId !== partnerId;
  const foreignOrganization = caller.scope === 'organization' && caller.orgId !== orgId;
  if (foreignPartner || foreignOrganization) throw new NotFoundError('Organization');
}
