import { changedFields, grantedScopes } from './api-key-changes.policy.js';

const day = (n: number) => new Date(Date.UTC(2030, 0, n));
const KEY = { scopes: ['devices:read'], expiresAt: day(10), sourceCidrs: ['10.0.0.0/8'], rateLimit: 100 };

describe('grantedScopes', () => {
  it.each([
    ['a later expiry', { expiresAt: day(11) }],
    ['no expiry', { expiresAt: null }],
    ['another address range', { sourceCidrs: ['10.0.0.0/8', '192.0.2.0/24'] }],
    ['any address', { sourceCidrs: [] }],
    ['a higher rate limit', { rateLimit: 101 }],
  ])('returns every scope for %s', (_, dto) => {
    expect(grantedScopes(KEY, dto)).toEqual(['devices:read']);
    expect(grantedScopes(KEY, { ...dto, scopes: ['scripts:read'] })).toEqual(['scripts:read']);
  });

  it.each([
    ['an earlier expiry', { expiresAt: day(9) }],
    ['the same address ranges', { sourceCidrs: ['10.0.0.0/8'] }],
    ['a lower rate limit', { rateLimit: 99 }],
    ['a name', { name: 'New' }],
  ])('returns no scope for %s', (_, dto) => {
    expect(grantedScopes(KEY, dto)).toEqual([]);
  });

  it('returns added scopes only', () => {
    expect(grantedScopes(KEY, { scopes: ['devices:read', 'scripts:read'] })).toEqual(['scripts:read']);
  });

  it('returns no scope when a key without expiry or address ranges gets some', () => {
    const open = { ...KEY, expiresAt: null, sourceCidrs: [] };
    expect(grantedScopes(open, { expiresAt: day(1), sourceCidrs: ['10.0.0.0/8'] })).toEqual([]);
  });
});

describe('changedFields', () => {
  it('returns the names of the fields that are set, also to null', () => {
    expect(changedFields({ name: 'New', expiresAt: null, scopes: undefined })).toEqual(['expiresAt', 'name']);
  });
});
