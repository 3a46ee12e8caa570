import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { mintLinkToken } from '@rmm/secrets';
import { currentContext, NotFoundError, RateLimitedError } from '@rmm/service-kit';
import { unknownCaller } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { emailBucket } from '../limits.js';
import { MailService } from '../mail/mail.service.js';
import { PasswordHasher } from '../passwords/password-hasher.service.js';
import { assertStrongPassword } from '../passwords/password.policy.js';
import { UsersRepository } from '../users/users.repository.js';
import { isBusinessEmail } from './business-email.js';
import type { RegisterDto, RegisterPartnerDto } from './dto/register.dto.js';
import { BusinessEmailRequired, SetupRequired } from './registration.errors.js';
import { RegistrationsRepository } from './registrations.repository.js';

/** Step 1 of a registration. The response is the same whether or not the address has a user. */
@Injectable()
export class RegistrationsService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly registrations: RegistrationsRepository,
    private readonly users: UsersRepository,
    private readonly hasher: PasswordHasher,
    private readonly mail: MailService,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Legacy route: checks limits and the password, and creates nothing. @throws WeakPassword, RateLimitedError */
  async register({ email, password, name }: RegisterDto, client: string): Promise<void> {
    await this.limits.hit(this.config.limits.register, client);
    await assertStrongPassword(password, { email, name });
  }

  /**
   * Stores the registration for an hour and mails its link.
   * @throws NotFoundError when registration is disabled; SetupRequired; BusinessEmailRequired; WeakPassword;
   *   RateLimitedError
   */
  async registerPartner(dto: RegisterPartnerDto, client: string): Promise<void> {
    if (!this.config.registrationEnabled) throw new NotFoundError();
    await this.limits.hit(this.config.limits.registerPartner, client);
    if (!this.config.isHosted && !(await this.users.hasPlatformAdmin(this.worker))) throw new SetupRequired();
    const { required, allowlist } = this.config.businessEmail;
    if (this.config.isHosted && required && !isBusinessEmail(dto.email, allowlist)) {
      throw new BusinessEmailRequired(this.config.publicAppUrl);
    }
    await assertStrongPassword(dto.password, dto);
    const passwordHash = await this.hasher.hash(dto.password);
    if (!(await this.mayMail(dto.email))) return;
    const { key, keyHash } = mintLinkToken();
    const { email, name, companyName } = dto;
    const { ipAddress = null, userAgent = null } = currentContext() ?? {};
    await this.worker.transaction(async (tx) => {
      const form = { companyName, email, name, passwordHash, ipAddress, userAgent };
      await this.registrations.insertPending(tx, keyHash, form);
      const url = `${this.config.publicAppUrl}/verify-email?token=${key}`;
      await this.mail.add(tx, { to: email, template: 'verify-registration', values: { name, companyName, url } });
      const resource = { type: 'registration', name: companyName };
      await this.audit.record(tx, unknownCaller(email), 'auth.registration.requested', resource);
    });
  }

  /** Counts a mail to an address, from whatever clients; over the limit nothing is stored, and the response is the same. */
  private async mayMail(email: string): Promise<boolean> {
    try {
      await this.limits.hit(this.config.limits.registerPartnerAddress, emailBucket(email));
      return true;
    } catch (error) {
      if (error instanceof RateLimitedError) return false;
      throw error;
    }
  }
}
