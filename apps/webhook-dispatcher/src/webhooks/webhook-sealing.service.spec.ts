import { randomBytes, randomUUID } from 'node:crypto';
import { KeyRing, UnsealFailed } from '@rmm/secrets';
import { WebhookSealingService } from './webhook-sealing.service.js';

describe('WebhookSealingService', () => {
  const sealing = new WebhookSealingService(new KeyRing({ keys: { k1: randomBytes(32) }, activeKid: 'k1' }));
  const [id, other] = [randomUUID(), randomUUID()];
  const URL = 'https://user:password@hooks.test/path?token=x';

  it('opens what it sealed for a webhook', () => {
    expect(sealing.openUrl(id, sealing.sealUrl(id, URL))).toBe(URL);
    expect(sealing.openSecret(id, sealing.sealSecret(id, 'secret'))).toBe('secret');
    expect(sealing.sealUrl(id, URL)).not.toContain('hooks.test');
  });

  it('seals the values of headers and leaves their names readable', () => {
    const headers = [
      { key: 'Authorization', value: 'Bearer x' },
      { key: 'X-Empty', value: '' },
    ];
    const sealed = sealing.sealHeaders(id, headers);
    expect(sealed.map(({ key }) => key)).toEqual(['Authorization', 'X-Empty']);
    expect(JSON.stringify(sealed)).not.toContain('Bearer');
    expect(sealing.openHeaders(id, sealed)).toEqual(headers);
  });

  it('opens no text of another webhook', () => {
    expect(() => sealing.openUrl(other, sealing.sealUrl(id, URL))).toThrow(UnsealFailed);
    expect(() => sealing.openSecret(other, sealing.sealSecret(id, 'secret'))).toThrow(UnsealFailed);
    const sealed = sealing.sealHeaders(id, [{ key: 'X', value: 'x' }]);
    expect(() => sealing.openHeaders(other, sealed)).toThrow(UnsealFailed);
  });

  it('opens no text of another column', () => {
    expect(() => sealing.openSecret(id, sealing.sealUrl(id, URL))).toThrow(UnsealFailed);
    expect(() => sealing.openUrl(id, sealing.sealSecret(id, URL))).toThrow(UnsealFailed);
    const sealed = [{ key: 'X', value: sealing.sealSecret(id, 'x') }];
    expect(() => sealing.openHeaders(id, sealed)).toThrow(UnsealFailed);
  });
});
