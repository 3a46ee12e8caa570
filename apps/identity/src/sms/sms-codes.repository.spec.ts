import { RedisConnections, UnavailableError } from '@rmm/service-kit';
import { IdentityTestApp } from '../../test/identity-test-app.js';
import { bindingOf, SmsCodesRepository, type SmsPurpose } from './sms-codes.repository.js';

let users = 0;
const newPurpose = (): SmsPurpose => ({ purpose: 'phone', userId: `user-${++users}`, sessionId: 'session' });

describe('SmsCodesRepository', () => {
  let testApp: IdentityTestApp;
  let repository: SmsCodesRepository;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    const identity = await testApp.startReplica();
    repository = identity.app.get(SmsCodesRepository, { strict: false });
  }, 120_000);
  afterAll(() => testApp.stop());

  it('gives the hash to five tries, also to concurrent ones', async () => {
    const purpose = newPurpose();
    await repository.save(purpose, 'hash');
    const tries = await Promise.all(Array.from({ length: 20 }, () => repository.countTry(purpose)));
    expect(tries.filter((hash) => hash !== null)).toEqual(Array(5).fill('hash'));
  });

  it('consumes a code for one caller, as long as it is the one that was compared', async () => {
    const purpose = newPurpose();
    await repository.save(purpose, 'hash');
    expect(await repository.consume(purpose, 'other')).toBe(false);
    const consumed = await Promise.all(Array.from({ length: 20 }, () => repository.consume(purpose, 'hash')));
    expect(consumed.filter((won) => won)).toHaveLength(1);
    expect(await repository.countTry(purpose)).toBeNull();
  });

  it('gives a new code its own five tries', async () => {
    const purpose = newPurpose();
    await repository.save(purpose, 'first');
    for (let n = 0; n < 6; n += 1) await repository.countTry(purpose);
    await repository.save(purpose, 'second');
    expect(await repository.countTry(purpose)).toBe('second');
  });

  it('binds a code to its purpose, user, session or login', () => {
    const bindings = [
      bindingOf({ purpose: 'phone', userId: 'a', sessionId: 'b' }),
      bindingOf({ purpose: 'step-up', userId: 'a', sessionId: 'b' }),
      bindingOf({ purpose: 'phone', userId: 'a', sessionId: 'c' }),
      bindingOf({ purpose: 'phone', userId: 'c', sessionId: 'b' }),
      bindingOf({ purpose: 'login', tempToken: 'a|b' }),
    ];
    expect(new Set(bindings).size).toBe(bindings.length);
  });

  it('throws UnavailableError when Redis is down', async () => {
    const fail = () => Promise.reject(new Error('down'));
    const broken = new SmsCodesRepository({ shared: { eval: fail } } as unknown as RedisConnections);
    await expect(broken.countTry(newPurpose())).rejects.toThrow(UnavailableError);
    await expect(broken.consume(newPurpose(), 'hash')).rejects.toThrow(UnavailableError);
  });
});
