import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { type PartnerState } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase, type TenantTransaction, type WorkerTransaction } from '@rmm/persistence';
import { NotFoundError, ValidationError } from '@rmm/service-kit';
import { AccessChanges } from '../access/access-changes.js';
import type { SecuritySettings } from '../mfa/mfa-policy.js';
import { PolicyChanges } from '../security-policy/policy-changes.js';
import { PolicyLock } from '../security-policy/policy-lock.js';
import { readPartnerChange } from '../security-policy/security-policy.dto.js';
import { MfaPolicyWouldLockOutUsers } from '../security-policy/security-policy.errors.js';
import { changedPolicy, type PolicyChange } from '../security-policy/security-policy.js';
import type { UpdatePartnerDto } from './dto.js';
import { toPartnerDto, type PartnerDto } from './partner.dto.js';
import { Partner } from './partner.entity.js';
import { assertTimeZone } from './time-zone.js';

type Transaction = TenantTransaction | WorkerTransaction;

/** A partner before and after a change. */
interface Change {
  before: Partner;
  after: Partner;
}

/** Changing a partner's record and its security policy, by its own administrators and by the platform. */
@Injectable()
export class PartnerChangesService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly policies: PolicyChanges,
    private readonly lock: PolicyLock,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly access: AccessChanges,
  ) {}

  /**
   * All of the request is saved, or nothing of it. `settings` merges per key, null removes one; `settings.security` needs
   * a session with a factor and is judged as CONTRACT 5.5 says.
   * @throws NotFoundError, ValidationError, MfaRequired, MfaPolicyWouldLockOutUsers, IpAllowlistWouldLockOutCaller
   */
  async update(caller: UserCaller, id: string, dto: UpdatePartnerDto): Promise<PartnerDto> {
    if (Object.keys(dto).length === 0) throw ValidationError.of('body', 'names no field to change');
    assertTimeZone(dto.timezone);
    const { security } = dto.settings ?? {};
    const saved =
      security === undefined
        ? await this.tenants.transaction(caller, (tx) => this.updateIn(tx, caller, id, dto))
        : await this.updateWithPolicy(caller, id, dto, security);
    return toPartnerDto(saved);
  }

  /** Under the worker login: members of all organizations and their factors decide. */
  private async updateWithPolicy(caller: UserCaller, id: string, dto: UpdatePartnerDto, raw: unknown) {
    const resource = { type: 'partner', id, partnerId: id, orgId: null };
    await this.policies.assertProven(caller, resource);
    const policy = readPartnerChange(raw);
    await this.policies.assertCallerStaysIn(caller, resource, policy?.ipAllowlist ?? []);
    try {
      return await this.worker.transaction(async (tx) => {
        await this.lock.writing(tx, id);
        return this.updateIn(tx, caller, id, dto, policy);
      });
    } catch (error) {
      if (error instanceof MfaPolicyWouldLockOutUsers) await this.policies.refuse(caller, resource, error);
      throw error;
    }
  }

  private async updateIn(
    tx: Transaction,
    caller: UserCaller,
    id: string,
    dto: UpdatePartnerDto,
    policy?: PolicyChange | null,
  ): Promise<Partner> {
    const before = await tx.repository(Partner).findOne({ where: { id }, lock: { mode: 'pessimistic_write' } });
    if (!before) throw new NotFoundError('Partner');
    const partners = tx.repository(Partner);
    const settings = settingsAfter(before.settings, dto.settings, policy);
    const after = partners.create({ ...before, ...dto, settings, version: before.version + 1 });
    const change = { before, after };
    if (policy !== undefined) await this.judgePolicy(tx, caller, change);
    await partners.save(after);
    await this.tell(tx, caller, change);
    await this.record(tx, caller, change, dto);
    return after;
  }

  private async judgePolicy(tx: Transaction, caller: UserCaller, { before, after }: Change): Promise<void> {
    const policies = { before: securityOf(before), after: securityOf(after) };
    if (isDeepStrictEqual(policies.before, policies.after)) return;
    const scope = { partnerId: after.id, partnerPolicy: policies.after };
    await this.policies.assertNobodyLockedOut(tx, policies, scope);
    await this.policies.record(tx, caller, resourceOf(after), policies);
  }

  private async tell(tx: Transaction, caller: UserCaller, { before, after }: Change): Promise<void> {
    await this.outbox.publish(tx, {
      stream: 'internal',
      type: 'partner.updated',
      aggregateId: after.id,
      aggregateVersion: after.version,
      partnerId: after.id,
      orgId: null,
      actor: caller.actor,
      data: toPartnerFact(after),
    });
    const reason = before.status === after.status ? 'security_policy' : `partner is ${after.status}`;
    const touched = before.status !== after.status || !isDeepStrictEqual(securityOf(before), securityOf(after));
    if (touched) await this.access.announce(tx, { partnerIds: [after.id], reason });
  }

  private async record(tx: Transaction, caller: UserCaller, { before, after }: Change, dto: UpdatePartnerDto) {
    const fields = Object.keys(dto).filter((field) => field !== 'settings' || hasMoreThanSecurity(dto.settings));
    if (fields.length === 0) return;
    const status = before.status === after.status ? {} : { status: { from: before.status, to: after.status } };
    await this.audit.record(tx, caller, 'partner.update', resourceOf(after), { fields, ...status });
  }
}

const securityOf = ({ settings }: Partner): SecuritySettings => settings.security ?? {};

const resourceOf = ({ id, name }: Partner) => ({ type: 'partner', id, name, partnerId: id, orgId: null });

const hasMoreThanSecurity = (settings: object | undefined): boolean =>
  Object.keys(settings ?? {}).some((key) => key !== 'security');

/** @param policy  absent: the request says nothing of it */
function settingsAfter(
  stored: Record<string, unknown>,
  given: Record<string, unknown> | undefined,
  policy: PolicyChange | null | undefined,
): Record<string, unknown> {
  const merged = Object.fromEntries(
    Object.entries({ ...stored, ...given, security: stored.security ?? null }).filter(([, value]) => value !== null),
  );
  if (policy === undefined) return merged;
  return { ...merged, security: changedPolicy(stored.security ?? {}, policy) };
}

const toPartnerFact = (partner: Partner): PartnerState => ({
  partnerId: partner.id,
  name: partner.name,
  slug: partner.slug,
  status: partner.status,
  maxOrganizations: partner.maxOrganizations,
  maxDevices: partner.maxDevices,
  timezone: partner.timezone,
  settings: { enrollment: partner.settings.enrollment as PartnerState['settings']['enrollment'] },
  version: partner.version,
});
