import { createHash } from 'node:crypto';
import {
  mintAgentToken,
  mintApiKey,
  mintEnrollmentKey,
  mintLinkToken,
  mintOpaqueToken,
  mintPartnerKey,
  mintWebhookSecret,
} from './minting.js';

describe('minting', () => {
  it.each([
    ['an API key', () => mintApiKey(), /^svc_[A-Za-z0-9_-]{32}$/],
    ['a partner key', () => mintPartnerKey(), /^svc_sp_[A-Za-z0-9_-]{43}$/],
    ['an agent token', () => mintAgentToken(), /^agt_[A-Za-z0-9_-]{43}$/],
    ['an opaque token', () => mintOpaqueToken(), /^[A-Za-z0-9_-]{43}$/],
    ['a link token', () => mintLinkToken(), /^[A-Za-z0-9_-]{48}$/],
    ['a short link token', () => mintLinkToken(10), /^[A-Za-z0-9_-]{10}$/],
  ])('mints %s with its prefix, its first 12 characters and its SHA-256', (_, mint, form) => {
    const { key, keyPrefix, keyHash } = mint();
    expect(key).toMatch(form);
    expect(keyPrefix).toBe(key.slice(0, 12));
    expect(keyHash).toEqual(createHash('sha256').update(key).digest());
    expect(mint().key).not.toBe(key);
  });

  it('repeats an API key that would have the prefix of a partner key', () => {
    const draws = [Buffer.from('sp_'.padEnd(32, 'A'), 'base64url'), Buffer.alloc(24, 1)];
    const { key } = mintApiKey(() => draws.shift() ?? Buffer.alloc(24));
    expect(draws).toHaveLength(0);
    expect(key).toBe(`svc_${Buffer.alloc(24, 1).toString('base64url')}`);
  });

  it('mints an enrollment key of 64 hex characters, hashed as <pepper>:<key>', () => {
    const { key, keyPrefix, keyHash } = mintEnrollmentKey('pepper');
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(keyPrefix).toBe(key.slice(0, 12));
    expect(keyHash).toEqual(createHash('sha256').update(`pepper:${key}`).digest());
  });

  it('mints a webhook secret', () => {
    expect(mintWebhookSecret()).toMatch(/^whsec_[A-Za-z0-9]{43}$/);
  });

  it('repeats a webhook secret that is not valid base64', () => {
    const draws = [Buffer.alloc(32, 0xff), Buffer.alloc(32, 0xfb), Buffer.alloc(32, 7)];
    const secret = mintWebhookSecret(() => draws.shift() ?? Buffer.alloc(0));
    expect(secret).toBe(`whsec_${Buffer.alloc(32, 7).toString('base64').replace('=', '')}`);
  });
});
