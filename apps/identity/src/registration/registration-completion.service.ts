import { Injectable } from '@nestjs/common';
import { PROVISIONING_ORGANIZATIONS_ENSURE_FIRST } from '@rmm/contracts';
import { AuditTrail, RpcClient } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { Logger } from '@rmm/service-kit';
import { actorOf, selfCaller, unknownCaller } from '../audit/actors.js';
import { PartnersService, type ProvisionedPartner } from '../partners/partners.service.js';
import { LoginSessionsService, type FinishedLogin, type StartedLogin } from '../sessions/login-sessions.service.js';
import { RegistrationsRepository, type RegistrationForm } from './registrations.repository.js';

/** Time the response waits for the first organization. */
const FIRST_ORGANIZATION_TIMEOUT_MS = 2_000;

export interface CompletedRegistration {
  verified: true;
  partner: ProvisionedPartner;
  login: FinishedLogin;
}

/** Step 2 of a registration. */
@Injectable()
export class RegistrationCompletionService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly registrations: RegistrationsRepository,
    private readonly partners: PartnersService,
    private readonly logins: LoginSessionsService,
    private readonly rpc: RpcClient,
    private readonly audit: AuditTrail,
    private readonly logger: Logger,
  ) {}

  /**
   * Creates partner, admin role, user, membership and session in one transaction.
   * @returns null when no registration has this token; 'taken' when the address has a user by now
   */
  async complete(tokenHash: Buffer): Promise<CompletedRegistration | 'taken' | null> {
    const created = await this.worker.transaction(async (tx) => {
      const form = await this.registrations.consume(tx, tokenHash);
      return form && this.createPartner(tx, form);
    });
    if (created === null || created === 'taken') return created;
    const { partner, started } = created;
    const [login] = await Promise.all([this.logins.finish(started), this.ensureFirstOrganization(partner)]);
    return { verified: true, partner, login };
  }

  private async createPartner(
    tx: WorkerTransaction,
    form: RegistrationForm,
  ): Promise<{ partner: ProvisionedPartner; started: StartedLogin } | 'taken'> {
    const userId = await this.registrations.insertUser(tx, form);
    if (!userId) {
      const caller = unknownCaller(form.email);
      const details = { reason: 'address_taken' };
      await this.audit.record(tx, caller, 'auth.email_verify_failed', { type: 'registration' }, details, 'failure');
      return 'taken';
    }
    const self = { id: userId, email: form.email };
    const partner = await this.partners.provision(tx, {
      name: form.companyName,
      signupIp: form.ipAddress,
      createsFirstOrganization: true,
      actor: actorOf(self),
    });
    await this.registrations.insertAdmin(tx, { partnerId: partner.id, userId, roleId: partner.adminRoleId });
    const user = await this.registrations.findUser(tx, userId);
    const membership = user?.memberships.find(({ partnerId }) => partnerId === partner.id);
    if (!user || !membership) throw new Error(`The user ${userId}, created in this transaction, cannot be read`);
    const caller = selfCaller(self, membership);
    const resource = { type: 'partner', id: partner.id, name: partner.name };
    await this.audit.record(tx, caller, 'partner.create', resource, { slug: partner.slug, signupIp: form.ipAddress });
    await this.audit.record(tx, caller, 'auth.email_verified', { type: 'user', id: userId, name: user.name });
    const options = { method: 'registration', mfa: false } as const;
    return { partner, started: await this.logins.start(tx, user, membership, options) };
  }

  /** Waits for the first organization, so that the caller's next request sees it. */
  private async ensureFirstOrganization({ id, name, slug }: ProvisionedPartner): Promise<void> {
    const request = { partnerId: id, companyName: name, partnerSlug: slug };
    try {
      await this.rpc.call(PROVISIONING_ORGANIZATIONS_ENSURE_FIRST, request, {
        timeoutMs: FIRST_ORGANIZATION_TIMEOUT_MS,
      });
    } catch (err) {
      this.logger.warn(
        { err, partnerId: id },
        'provisioning did not create the first organization in time; it will when it receives partner.created',
      );
    }
  }
}
