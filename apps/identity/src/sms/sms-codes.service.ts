import { Inject, Injectable } from '@nestjs/common';
import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import { RateLimits } from '@rmm/rate-limits';
import { hashKey } from '@rmm/secrets';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { phoneBucket } from '../limits.js';
import { bindingOf, SmsCodesRepository, type SmsPurpose } from './sms-codes.repository.js';
import { SmsProvider } from './sms-provider.service.js';

const DIGITS = 6;

/**
 * Sends codes by SMS and verifies them. A code is bound to its purpose, to the session or login, and to the number it was
 * sent to: after a change of the number it is wrong.
 * @see docs/reference/mfa-and-policies.md
 */
@Injectable()
export class SmsCodesService {
  constructor(
    private readonly repository: SmsCodesRepository,
    private readonly provider: SmsProvider,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /** @throws SmsNotConfigured */
  assertConfigured(): void {
    this.provider.assertConfigured();
  }

  /**
   * Sends a code to an enrolled number, within the limits of the login or session and of the number.
   * @throws SmsNotConfigured, RateLimitedError, UpstreamError
   */
  async sendLimited(purpose: SmsPurpose, phoneNumber: string): Promise<void> {
    this.provider.assertConfigured();
    await this.limits.hit(this.config.limits.smsSession, hashKey(bindingOf(purpose)).toString('hex'));
    await this.limits.hit(this.config.limits.smsPhone, phoneBucket(phoneNumber));
    await this.send(purpose, phoneNumber);
  }

  /** Sends a code; the caller has checked the limits. @throws SmsNotConfigured, UpstreamError */
  async send(purpose: SmsPurpose, phoneNumber: string): Promise<void> {
    const code = String(randomInt(10 ** DIGITS)).padStart(DIGITS, '0');
    await this.repository.save(purpose, this.hash(purpose, phoneNumber, code));
    await this.provider.send(phoneNumber, this.textOf(code));
  }

  /** Verifies a code and uses it up. @returns true for exactly one of concurrent callers with the code */
  async verify(purpose: SmsPurpose, phoneNumber: string, code: string): Promise<boolean> {
    const stored = await this.repository.countTry(purpose);
    if (stored === null) return false;
    const given = this.hash(purpose, phoneNumber, code);
    return timingSafeEqual(Buffer.from(given), Buffer.from(stored)) && this.repository.consume(purpose, stored);
  }

  /** Keyed, since six digits are few enough to try them all on a plain hash. */
  private hash(purpose: SmsPurpose, phoneNumber: string, code: string): string {
    return createHmac('sha256', `sms-code|${this.config.mfa.recoveryCodePepper}`)
      .update(`${bindingOf(purpose)}|${phoneNumber}|${code}`)
      .digest('base64url');
  }

  /** The last line lets browsers offer the code on the page of this host, and on no other (WebOTP). */
  private textOf(code: string): string {
    const { hostname } = new URL(this.config.publicAppUrl);
    return `${code} is your ${this.config.mfa.issuer} code. It expires in 5 minutes.\n\n@${hostname} #${code}`;
  }
}
