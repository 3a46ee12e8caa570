import { RateLimitedError } from '@rmm/service-kit';
import { buildConfig, FakeLimits } from '../../test/fakes.js';
import { SmsNotConfigured } from '../mfa/mfa.errors.js';
import { bindingOf, type SmsCodesRepository, type SmsPurpose } from './sms-codes.repository.js';
import { SmsCodesService } from './sms-codes.service.js';
import type { SmsProvider } from './sms-provider.service.js';

const NUMBER = '+41791234567';
const PURPOSE: SmsPurpose = { purpose: 'step-up', userId: 'user', sessionId: 'session' };

describe('SmsCodesService', () => {
  let stored: Map<string, string>;
  let sent: { to: string; text: string }[];
  let isConfigured: boolean;
  let isDelivered: boolean;
  let limits: FakeLimits;

  beforeEach(() => {
    [stored, sent, isConfigured, isDelivered, limits] = [new Map(), [], true, true, new FakeLimits()];
  });

  const start = (recoveryCodePepper = 'pepper') =>
    new SmsCodesService(
      {
        save: (purpose: SmsPurpose, hash: string) => Promise.resolve(stored.set(bindingOf(purpose), hash)),
        countTry: (purpose: SmsPurpose) => Promise.resolve(stored.get(bindingOf(purpose)) ?? null),
        consume: (purpose: SmsPurpose, hash: string) =>
          Promise.resolve(stored.get(bindingOf(purpose)) === hash && stored.delete(bindingOf(purpose))),
      } as unknown as SmsCodesRepository,
      {
        assertConfigured: () => {
          if (!isConfigured) throw new SmsNotConfigured();
        },
        send: (to: string, text: string) =>
          isDelivered ? Promise.resolve(sent.push({ to, text })) : Promise.reject(new Error('not delivered')),
      } as unknown as SmsProvider,
      limits.asLimits,
      buildConfig({ mfa: { recoveryCodePepper, issuer: 'RMM' } as never, publicAppUrl: 'https://app.test' }),
    );
  const newestCode = () => /^(\d{6}) /.exec(sent.at(-1)?.text ?? '')?.[1] ?? '';

  it('sends six digits, for the page of the application only', async () => {
    await start().send(PURPOSE, NUMBER);
    expect(sent).toEqual([
      { to: NUMBER, text: expect.stringMatching(/^\d{6} is your RMM code\. .*\n\n@app\.test #\d{6}$/) },
    ]);
    expect([...stored.values()].join()).not.toContain(newestCode());
  });

  it('accepts a code once', async () => {
    const codes = start();
    await codes.send(PURPOSE, NUMBER);
    const code = newestCode();
    expect(await codes.verify(PURPOSE, NUMBER, code === '000000' ? '000001' : '000000')).toBe(false);
    const verified = await Promise.all(Array.from({ length: 5 }, () => codes.verify(PURPOSE, NUMBER, code)));
    expect(verified.filter((isVerified) => isVerified)).toHaveLength(1);
  });

  it.each<[string, SmsPurpose, string]>([
    ['for another number', PURPOSE, '+41790000000'],
    ['of another session', { ...PURPOSE, sessionId: 'other' }, NUMBER],
    ['of another purpose', { ...PURPOSE, purpose: 'phone' }, NUMBER],
    ['of a login', { purpose: 'login', tempToken: 'user|session' }, NUMBER],
  ])('refuses a code %s', async (_title, purpose, number) => {
    await start().send(PURPOSE, NUMBER);
    stored.set(bindingOf(purpose), stored.get(bindingOf(PURPOSE)) ?? '');
    expect(await start().verify(purpose, number, newestCode())).toBe(false);
  });

  it('hashes with a key of the service', async () => {
    await start().send(PURPOSE, NUMBER);
    expect(await start('another pepper').verify(PURPOSE, NUMBER, newestCode())).toBe(false);
    expect(await start().verify(PURPOSE, NUMBER, newestCode())).toBe(true);
  });

  it('refuses any code when none was sent', async () => {
    expect(await start().verify(PURPOSE, NUMBER, '000000')).toBe(false);
  });

  it('limits codes by session and by number, of which it counts neither in the clear', async () => {
    await start().sendLimited(PURPOSE, NUMBER);
    expect(limits.hits.map((hit) => hit.split(' ')[0])).toEqual(['smsSession', 'smsPhone']);
    expect(limits.hits.join()).not.toMatch(/user|4179/);
    for (const name of ['smsSession', 'smsPhone']) {
      limits.exhausted = name;
      await expect(start().sendLimited(PURPOSE, NUMBER)).rejects.toThrow(RateLimitedError);
    }
    expect(sent).toHaveLength(1);
  });

  it('counts nothing without a provider of SMS', async () => {
    isConfigured = false;
    await expect(start().sendLimited(PURPOSE, NUMBER)).rejects.toThrow(SmsNotConfigured);
    expect(() => start().assertConfigured()).toThrow(SmsNotConfigured);
    expect(limits.hits).toEqual([]);
  });

  it('fails when the message is not accepted', async () => {
    isDelivered = false;
    await expect(start().send(PURPOSE, NUMBER)).rejects.toThrow('not delivered');
  });
});
