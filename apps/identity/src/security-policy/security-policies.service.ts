import { Inject, Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { MfaRequired, type UserCaller } from '@rmm/access';
import type { AccessScope, ApplySecurityPolicyRequest, OrganizationSecurity, PartnerSecurity } from '@rmm/contracts';
import { AuditTrail, Outbox, type AuditedCaller, type AuditedResource } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase, type HasTenant, type TenantTransaction } from '@rmm/persistence';
import { currentContext, NotFoundError, RecordChanged } from '@rmm/service-kit';
import { cidrsContain, parseCidr } from '@rmm/validation';
import { AccessChangesService } from '../access/access-changes.service.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { allowedMfaMethods } from '../mfa/mfa.policy.js';
import { PartnersRepository } from '../partners/partners.repository.js';
import type { UserMembership } from '../users/user.types.js';
import { readOrganizationChange, readPartnerChange } from './dto/security-policy.dto.js';
import { SecurityPoliciesRepository, type AffectedMembers } from './security-policies.repository.js';
import {
  IpAllowlistWouldLockOutCaller,
  MfaNoMethodAvailable,
  MfaPolicyWouldLockOutUsers,
} from './security-policy.errors.js';
import { changePolicy, tightensMfa, type PolicyChange } from './security.policy.js';

/** The caller of a policy change. */
export interface PolicyEditor extends AuditedCaller {
  scope: AccessScope;
  mfa: boolean;
}

interface PolicyVersions {
  before: PartnerSecurity;
  after: PartnerSecurity;
}

export interface AppliedPolicy {
  security: OrganizationSecurity;
  version: number;
}

const ACTION = 'security_policy.update';

/**
 * Security policies of partners and organizations. Keeps policies and factors compatible: no change of one leaves users
 * without a factor that they can use. @see docs/reference/mfa-and-policies.md
 */
@Injectable()
export class SecurityPoliciesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly repository: SecurityPoliciesRepository,
    private readonly partners: PartnersRepository,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly accessChanges: AccessChangesService,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Applies a change of an organization's policy that provisioning asks for: checks, stores and publishes it.
   * @param editor  resolved by the session, with access to the organization
   * @throws MfaRequired, ValidationError, NotFoundError, RecordChanged, MfaNoMethodAvailable, MfaPolicyWouldLockOutUsers
   */
  async apply(editor: UserCaller, request: ApplySecurityPolicyRequest): Promise<AppliedPolicy> {
    const resource = resourceOf(request);
    await this.assertMfa(editor, resource);
    const change = readOrganizationChange(request.security);
    if (request.isNew) await this.repository.reserveOrganization(this.worker, request);
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

  /**
   * Checks the new policy of a partner and records its audit entry, within `changePartnerPolicy`.
   * @throws MfaNoMethodAvailable, MfaPolicyWouldLockOutUsers
   */
  async acceptPartnerPolicy(
    tx: TenantTransaction,
    editor: PolicyEditor,
    resource: AuditedResource & { partnerId: string },
    { before, after }: PolicyVersions,
  ): Promise<void> {
    const affected = { partnerId: resource.partnerId, partnerPolicy: after };
    await this.assertNoLockOut(tx, { before, after }, affected);
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
      return change(await this.repository.listMemberships(tx, userId));
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
    if (request.ifVersion !== undefined && request.ifVersion !== storedVersion) throw new RecordChanged();
    const after = changePolicy(before, change);
    if (isDeepStrictEqual(before, after)) return { security: before, version: storedVersion };

    const affected = { partnerId, partnerPolicy, organization: { orgId, policy: after } };
    await this.assertNoLockOut(tx, { before, after }, affected);
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
    await this.audit.record(tx, editor, ACTION, resourceOf(request), { before, after });
    return { security: after, version };
  }

  /** @throws MfaNoMethodAvailable, MfaPolicyWouldLockOutUsers; neither when the change is no stricter than before */
  private async assertNoLockOut(
    tx: TenantTransaction,
    { before, after }: PolicyVersions,
    affected: AffectedMembers,
  ): Promise<void> {
    if (!tightensMfa(before, after)) return;
    await this.assertMethodAvailable(tx, affected);
    const lockedOut = await this.repository.countLockedOut(tx, affected);
    if (lockedOut.count > 0) throw new MfaPolicyWouldLockOutUsers(lockedOut);
  }

  /** Counts only methods that can be enrolled here; users who need a factor could not get in otherwise. */
  private async assertMethodAvailable(tx: TenantTransaction, affected: AffectedMembers): Promise<void> {
    const { partnerId, partnerPolicy, organization } = affected;
    const allowed = allowedMfaMethods(partnerPolicy, organization?.policy ?? null);
    const methods = this.config.mfa.offeredMethods.filter((method) => allowed.includes(method));
    if (methods.length === 0) throw new MfaNoMethodAvailable();
    if (organization || methods.includes('passkey')) return; // no policy excludes passkeys
    if (await this.repository.excludesAll(tx, partnerId, methods)) throw new MfaNoMethodAvailable();
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
