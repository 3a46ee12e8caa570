import { KeyRing, UnsealFailed } from '@rmm/secrets';
import type { PsaConnection } from './psa-connection.entity.js';
import { PsaSealingService } from './psa-sealing.service.js';

const ringOf = (byte: number) => new KeyRing({ keys: { one: Buffer.alloc(32, byte) }, activeKid: 'one' });
const CREDENTIALS = { baseUrl: 'https://acme.zendesk.com', email: 'a@acme.example', apiToken: 'secret' };

describe('PsaSealingService', () => {
  const sealing = new PsaSealingService(ringOf(1));
  const sealed = { id: 'c-1', ...sealing.seal('c-1', 'zendesk', CREDENTIALS) } as PsaConnection;

  it('seals secret credentials and leaves public ones', () => {
    const { apiToken: _secret, ...shown } = CREDENTIALS;
    expect(sealed).toMatchObject({ credentials: shown, secretNames: ['apiToken'] });
    expect(sealed.secretsSealed).not.toContain('secret');
    expect(sealing.open(sealed)).toEqual(CREDENTIALS);
  });

  it('seals nothing when there is no secret', () => {
    const { apiToken: _secret, ...shown } = CREDENTIALS;
    const plain = { id: 'c-1', ...sealing.seal('c-1', 'zendesk', shown) } as PsaConnection;
    expect(plain).toMatchObject({ secretsSealed: null, secretNames: [] });
    expect(sealing.open(plain)).toEqual(shown);
  });

  it('opens for no other connection and with no other key', () => {
    const { apiToken: _secret, ...shown } = CREDENTIALS;
    const other = new PsaSealingService(ringOf(2));
    expect(() => sealing.open({ ...sealed, id: 'c-2' })).toThrow(UnsealFailed);
    expect(() => other.open(sealed)).toThrow(UnsealFailed);
    expect(other.openUsable(sealed)).toEqual(shown);
  });

  it('seals with the active key again what an older one sealed, and nothing for another connection', () => {
    const keys = { one: Buffer.alloc(32, 1), two: Buffer.alloc(32, 2) };
    const rotated = new PsaSealingService(new KeyRing({ keys, activeKid: 'two' }));
    const text = rotated.reseal('c-1', sealed.secretsSealed as string);
    expect(text).toMatch(/^v1\.two\./);
    expect(rotated.open({ ...sealed, secretsSealed: text })).toEqual(CREDENTIALS);
    expect(rotated.reseal('c-2', sealed.secretsSealed as string)).toBeNull();
    expect(new PsaSealingService(ringOf(2)).reseal('c-1', sealed.secretsSealed as string)).toBeNull();
  });
});
