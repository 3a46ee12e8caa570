import { Inject, Injectable } from '@nestjs/common';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { mintLinkToken } from '@rmm/secrets';
import { currentContext, NotFoundError, RateLimits } from '@rmm/service-kit';
import { stranger } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { PasswordHasher } from '../login/password-hasher.js';
import { assertStrongPassword } from '../login/password-rules.js';
import { MailOutbox } from '../mail/mail-outbox.js';
import { isBusinessEmail } from './business-email.js';
import type { RegisterDto, RegisterPartnerDto } from './dto.js';
import { BusinessEmailRequired, SetupRequired } from './registration.errors.js';
import { RegistrationsRepository } from './registrations.repository.js';

/** Step 1 of sign-up, the same whether or not the address has an account. */
@Injectable()
export class SignUpService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: RegistrationsRepository,
    private readonly hasher: PasswordHasher,
    private readonly mail: MailOutbox,
    private readonly limits: RateLimits,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** Legacy: limits and password rules, and nothing else. @throws WeakPassword, RateLimitedError */
  async register({ email, password, name }: RegisterDto, client: string): Promise<void> {
    await this.limits.hit(this.config.limits.register, client);
    await assertStrongPassword(password, { email, name });
  }

  /**
   * Parks the sign-up for an hour and mails its link.
   * @throws NotFoundError when sign-up is closed; SetupRequired; BusinessEmailRequired; WeakPassword; RateLimitedError
   */
  async registerPartner(dto: RegisterPartnerDto, client: string): Promise<void> {
    if (!this.config.registrationEnabled) throw new NotFoundError();
    await this.limits.hit(this.config.limits.registerPartner, client);
    if (!this.config.isHosted && !(await this.hasSystemUser())) throw new SetupRequired();
    const { required, allowlist } = this.config.businessEmail;
    if (this.config.isHosted && required && !isBusinessEmail(dto.email, allowlist)) {
      throw new BusinessEmailRequired(this.config.publicAppUrl);
    }
    await assertStrongPassword(dto.password, dto);
    const passwordHash = await this.hasher.hash(dto.password);
    const { key, keyHash } = mintLinkToken();
    const { email, name, companyName } = dto;
    const { ipAddress = null, userAgent = null } = currentContext() ?? {};
    await this.worker.transaction(async (tx) => {
      await this.repository.park(tx, keyHash, { companyName, email, name, passwordHash, ipAddress, userAgent });
      const url = `${this.config.publicAppUrl}/verify-email?token=${key}`;
      await this.mail.add(tx, { to: email, template: 'verify-registration', values: { name, companyName, url } });
      await this.audit.record(tx, stranger(email), 'auth.registration.requested', {
        type: 'registration',
        name: companyName,
      });
    });
  }

  private async hasSystemUser(): Promise<boolean> {
    const rows = await this.worker.query('select 1 as one from user_account where is_platform_admin limit 1');
    return rows.length > 0;
  }
}
