import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import {
  type ApplySecurityPolicyRequest,
  type OrganizationSecurity,
  type OrganizationSecurityState,
} from '@rmm/contracts';
import { Outbox } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { AccessChanges } from '../access/access-changes.js';
import { actorOf } from '../audit/actors.js';
import { OrganizationPoliciesRepository } from './organization-policies.repository.js';
import { PolicyChanges, type PolicyEditor } from './policy-changes.js';
import { PolicyLock } from './policy-lock.js';
import { readOrganizationChange } from './security-policy.dto.js';
import { MfaPolicyWouldLockOutUsers } from './security-policy.errors.js';
import { changedPolicy, type PolicyChange } from './security-policy.js';

export interface AppliedPolicy {
  security: OrganizationSecurity;
  version: number;
}

/** Security policies of organizations: stored here, edited through provisioning. @see CONTRACT.md 1.8 */
@Injectable()
export class OrganizationPoliciesService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: OrganizationPoliciesRepository,
    private readonly changes: PolicyChanges,
    private readonly lock: PolicyLock,
    private readonly access: AccessChanges,
    private readonly outbox: Outbox,
  ) {}

  /**
   * Validates, asks whom it would lock out, stores and tells everybody, or nothing of it.
   * @throws MfaRequired, ValidationError, NotFoundError, MfaPolicyWouldLockOutUsers
   */
  async apply(request: ApplySecurityPolicyRequest): Promise<AppliedPolicy> {
    const editor = editorOf(request);
    const resource = resourceOf(request);
    await this.changes.assertProven(editor, resource);
    assertOwnTenant(request);
    const change = readOrganizationChange(request.security);
    try {
      return await this.worker.transaction((tx) => this.applyIn(tx, request, editor, change));
    } catch (error) {
      if (error instanceof MfaPolicyWouldLockOutUsers) await this.changes.refuse(editor, resource, error);
      throw error;
    }
  }

  private async applyIn(
    tx: WorkerTransaction,
    request: ApplySecurityPolicyRequest,
    editor: PolicyEditor,
    change: PolicyChange | null,
  ): Promise<AppliedPolicy> {
    const { orgId, partnerId } = request;
    await this.lock.writing(tx, partnerId);
    const partnerPolicy = await this.repository.findPartnerPolicy(tx, partnerId);
    if (!partnerPolicy) throw new NotFoundError('Organization');
    const { security: before, version: stored } = await this.repository.find(tx, orgId);
    const after = changedPolicy(before, change);
    if (isDeepStrictEqual(before, after)) return { security: before, version: stored };

    const scope = { partnerId, partnerPolicy, organization: { orgId, policy: after } };
    await this.changes.assertNobodyLockedOut(tx, { before, after }, scope);
    const version = await this.repository.save(tx, { orgId, partnerId, security: after });
    if (version === null) throw new NotFoundError('Organization');
    await this.access.announce(tx, { orgIds: [orgId], reason: 'security_policy' });
    await this.tell(tx, editor, { orgId, partnerId, security: after, version });
    await this.changes.record(tx, editor, resourceOf(request), { before, after });
    return { security: after, version };
  }

  private async tell(tx: WorkerTransaction, editor: PolicyEditor, data: OrganizationSecurityState): Promise<void> {
    const { orgId, partnerId, version } = data;
    await this.outbox.publish(tx, {
      stream: 'internal',
      type: 'organization.security_policy_updated',
      aggregateId: orgId,
      aggregateVersion: version,
      partnerId,
      orgId,
      actor: editor.actor,
      data,
    });
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

/** The asking service checked it already; a mistake there must not reach another tenant. @throws NotFoundError */
function assertOwnTenant({ caller, orgId, partnerId }: ApplySecurityPolicyRequest): void {
  const foreignPartner = caller.scope !== 'system' && caller.partnerId !== partnerId;
  const foreignOrganization = caller.scope === 'organization' && caller.orgId !== orgId;
  if (foreignPartner || foreignOrganization) throw new NotFoundError('Organization');
}
