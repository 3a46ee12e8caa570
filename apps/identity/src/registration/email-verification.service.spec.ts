import type { AuditTrail } from '@rmm/messaging';
import { mintLinkToken } from '@rmm/secrets';
import type { RateLimits } from '@rmm/service-kit';
import type { IdentityConfig } from '../config.js';
import type { AddressConfirmationService } from './address-confirmation.service.js';
import type { ConfirmedAddressDto } from './dto/verification.dto.js';
import { EmailVerificationService } from './email-verification.service.js';
import type { CompletedRegistration, RegistrationCompletionService } from './registration-completion.service.js';
import { VerificationInvalid } from './registration.errors.js';

const { key } = mintLinkToken();
const completed = { verified: true } as CompletedRegistration;
const confirmed: ConfirmedAddressDto = { verified: true, purpose: 'email_verification', email: 'a@b.test' };

describe('EmailVerificationService', () => {
  const recorded: string[] = [];

  const verify = (
    token: string,
    registration: CompletedRegistration | 'taken' | null,
    address: ConfirmedAddressDto | null = null,
  ) =>
    new EmailVerificationService(
      { complete: async () => registration } as unknown as RegistrationCompletionService,
      { confirm: async () => address } as unknown as AddressConfirmationService,
      { hit: async () => undefined } as unknown as RateLimits,
      { recordDirect: async (_: unknown, action: string) => void recorded.push(action) } as unknown as AuditTrail,
      { limits: {} } as IdentityConfig,
    ).verify(token, '192.0.2.1');

  it('completes a registration', async () => {
    expect(await verify(key, completed)).toBe(completed);
  });

  it('asks the user to log in when the address has one by now', async () => {
    expect(await verify(key, 'taken')).toEqual({ verified: false, status: 'sign_in' });
  });

  it('confirms an address when the token is of no registration', async () => {
    expect(await verify(key, null, confirmed)).toBe(confirmed);
  });

  it.each([
    ['an unknown token', key],
    ['a malformed token, without a lookup', 'short'],
  ])('refuses %s and records it', async (_, token) => {
    recorded.length = 0;
    await expect(verify(token, token === key ? null : completed)).rejects.toThrow(VerificationInvalid);
    expect(recorded).toEqual(['auth.email_verify_failed']);
  });
});
