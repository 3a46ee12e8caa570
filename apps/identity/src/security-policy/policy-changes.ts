import { Injectable } from '@nestjs/common';
import { MfaRequired } from '@rmm/access';
import type { AccessScope, PartnerSecurity } from '@rmm/contracts';
import { AuditTrail, type AuditedCaller, type AuditedResource } from '@rmm/messaging';
import type { SqlExecutor } from '@rmm/persistence';
import { cidrsContain, currentContext, parseCidr } from '@rmm/service-kit';
import { LockoutRepository, type AffectedScope } from './lockout.repository.js';
import { IpAllowlistWouldLockOutCaller, MfaPolicyWouldLockOutUsers } from './security-policy.errors.js';
import { tightensMfa } from './security-policy.js';

/** Who changes a policy. */
export interface PolicyEditor extends AuditedCaller {
  scope: AccessScope;
  mfa: boolean;
}

export interface PolicyVersions {
  before: PartnerSecurity;
  after: PartnerSecurity;
}

const ACTION = 'security_policy.update';

/** What every change of a policy is held to, whoever owns it, and the rows it leaves. @see CONTRACT.md 5.5 */
@Injectable()
export class PolicyChanges {
  constructor(
    private readonly lockouts: LockoutRepository,
    private readonly audit: AuditTrail,
  ) {}

  /** Before anything is looked at. @throws MfaRequired */
  async assertProven(editor: PolicyEditor, resource: AuditedResource): Promise<void> {
    if (!editor.mfa) return this.refuse(editor, resource, new MfaRequired());
  }

  /** A list that does not bind the platform's own people locks none of them out. @throws IpAllowlistWouldLockOutCaller */
  async assertCallerStaysIn(editor: PolicyEditor, resource: AuditedResource, allowlist: string[]): Promise<void> {
    if (allowlist.length === 0 || editor.scope === 'system') return;
    const address = currentContext()?.ipAddress;
    const ranges = allowlist.map(parseCidr).filter((range) => range !== null);
    if (address !== undefined && cidrsContain(ranges, address)) return;
    await this.refuse(editor, resource, new IpAllowlistWouldLockOutCaller());
  }

  /** Under the partner's policy lock; a change that asks for no more than before always passes. @throws MfaPolicyWouldLockOutUsers */
  async assertNobodyLockedOut(tx: SqlExecutor, { before, after }: PolicyVersions, scope: AffectedScope): Promise<void> {
    if (!tightensMfa(before, after)) return;
    const lockedOut = await this.lockouts.count(tx, scope);
    if (lockedOut.count > 0) throw new MfaPolicyWouldLockOutUsers(lockedOut);
  }

  /** The row of a change, in its transaction. */
  async record(
    tx: Parameters<AuditTrail['record']>[0],
    editor: PolicyEditor,
    resource: AuditedResource,
    { before, after }: PolicyVersions,
  ): Promise<void> {
    await this.audit.record(tx, editor, ACTION, resource, { before, after });
  }

  /** Leaves the row of a refusal. @throws what is given */
  async refuse(
    editor: PolicyEditor,
    resource: AuditedResource,
    error: MfaRequired | IpAllowlistWouldLockOutCaller | MfaPolicyWouldLockOutUsers,
  ): Promise<never> {
    const details = { reason: error.code, ...error.extras };
    await this.audit.recordDirect(editor, ACTION, resource, details, 'denied');
    throw error;
  }
}
