import { Inject, Injectable } from '@nestjs/common';
import { PROVISIONING_ORGANIZATIONS_ENSURE_FIRST } from '@rmm/contracts';
import { AuditTrail, RpcClient } from '@rmm/messaging';
import { WorkerDatabase, type WorkerTransaction } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { Logger, RateLimits } from '@rmm/service-kit';
import { actorOf, selfCaller, stranger } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { SessionStarter, type FinishedLogin, type StartedSession } from '../login/session-starter.js';
import { PartnerMaker, type MadePartner } from '../partners/partner-maker.js';
import { PeopleRepository } from '../users/people.repository.js';
import { VerificationInvalid } from './registration.errors.js';
import { AddressConfirmationService } from './address-confirmation.service.js';
import { RegistrationsRepository, type PendingRegistration } from './registrations.repository.js';
import type { ConfirmedAddressDto, SignInInsteadDto } from './verification.dto.js';

const LINK_TOKEN = /^[A-Za-z0-9_-]{48}$/;
/** How long the answer waits for the first organization; the event makes it otherwise. */
const FIRST_ORGANIZATION_TIMEOUT_MS = 2_000;

export type Verification =
  SignInInsteadDto | ConfirmedAddressDto | { verified: true; partner: MadePartner; login: FinishedLogin };

/**
 * Followed links. Step 2 of sign-up: one transaction makes partner, admin role, user, membership and session. Links of
 * existing accounts go to the confirmation of addresses. @see CONTRACT.md 4.7
 */
@Injectable()
export class VerificationService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: RegistrationsRepository,
    private readonly addresses: AddressConfirmationService,
    private readonly partners: PartnerMaker,
    private readonly people: PeopleRepository,
    private readonly starter: SessionStarter,
    private readonly rpc: RpcClient,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws VerificationInvalid for a link that is unknown, used or expired; RateLimitedError */
  async verify(token: string, client: string): Promise<Verification> {
    await this.limits.hit(this.config.limits.verifyEmail, client);
    const tokenHash = LINK_TOKEN.test(token) ? hashKey(token) : null;
    const made = tokenHash && (await this.signUp(tokenHash));
    const confirmed = tokenHash && !made ? await this.addresses.confirm(tokenHash) : null;
    if (confirmed) return confirmed;
    if (!made) {
      await this.audit.recordDirect(stranger(), 'auth.email_verify_failed', { type: 'registration' }, {}, 'failure');
      throw new VerificationInvalid();
    }
    if (made === 'taken') return { verified: false, status: 'sign_in' };
    const [login] = await Promise.all([this.starter.finish(made.started), this.ensureFirstOrganization(made.partner)]);
    return { verified: true, partner: made.partner, login };
  }

  private signUp(tokenHash: Buffer) {
    return this.worker.transaction(async (tx) => {
      const pending = await this.repository.take(tx, tokenHash);
      return pending && this.makePartner(tx, pending);
    });
  }

  private async makePartner(
    tx: WorkerTransaction,
    pending: PendingRegistration,
  ): Promise<{ partner: MadePartner; started: StartedSession } | 'taken'> {
    const userId = await this.repository.insertUser(tx, pending);
    if (!userId) return 'taken';
    const self = { id: userId, email: pending.email };
    const partner = await this.partners.make(tx, {
      name: pending.companyName,
      signupIp: pending.ipAddress,
      createFirstOrganization: true,
      actor: actorOf(self),
    });
    await tx.query(
      `insert into partner_membership (partner_id, user_id, role_id, org_access) values ($1, $2, $3, 'all')`,
      [partner.id, userId, partner.adminRoleId],
    );
    const person = await this.people.findById(tx, userId);
    const membership = person?.memberships[0];
    if (!person || !membership) throw new Error('The account that was just made cannot be read');
    const caller = selfCaller(self, membership);
    const resource = { type: 'partner', id: partner.id, name: partner.name };
    await this.audit.record(tx, caller, 'partner.create', resource, {
      slug: partner.slug,
      signupIp: pending.ipAddress,
    });
    await this.audit.record(tx, caller, 'auth.email_verified', { type: 'user', id: userId, name: person.name });
    const options = { method: 'registration', mfa: false } as const;
    return { partner, started: await this.starter.start(tx, person, membership, options) };
  }

  /** So that the caller's next request sees it; provisioning makes it from `partner.created` when this fails. */
  private async ensureFirstOrganization({ id, name, slug }: MadePartner): Promise<void> {
    const request = { partnerId: id, companyName: name, partnerSlug: slug };
    try {
      await this.rpc.call(PROVISIONING_ORGANIZATIONS_ENSURE_FIRST, request, {
        timeoutMs: FIRST_ORGANIZATION_TIMEOUT_MS,
      });
    } catch (err) {
      this.logger.warn({ err, partnerId: id }, 'The first organization follows from the event');
    }
  }
}
