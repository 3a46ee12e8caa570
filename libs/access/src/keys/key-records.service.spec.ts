import { createHash } from 'node:crypto';
import type { ResolvedApiKey, ResolvedKey, ResolvedPartnerKey } from '@rmm/contracts';
import { UnavailableError } from '@rmm/service-kit';
import { FixedClock } from '@rmm/testing-services';
import { fakeFeeds, fakeSources } from '../../test/fakes.js';
import type { InvalidationFeeds } from '../invalidation/invalidation-feeds.service.js';
import { KeyRecords } from './key-records.service.js';

const apiKey: ResolvedApiKey = {
  kind: 'api_key',
  keyId: 'key-1',
  orgId: 'org-1',
  partnerId: 'partner-1',
  scopes: ['devices:read'],
  rateLimit: 1_000,
  expiresAt: null,
  expiresInMs: null,
  sourceCidrs: [],
  siteIds: null,
  deviceGroupIds: null,
  generation: 1,
  status: 'active',
  createdBy: '11111111-1111-4111-8111-111111111111',
  principalId: null,
};
const partnerKey: ResolvedPartnerKey = {
  kind: 'partner_key',
  keyId: 'key-2',
  keyName: 'First',
  keyPrefix: 'svc_sp_aaaaaaaaaaa',
  principalId: 'principal-1',
  principalName: 'Documentation',
  partnerId: 'partner-1',
  scopes: ['sites:read'],
  rateLimit: 600,
  expiresAt: null,
  expiresInMs: null,
  sourceCidrs: [],
  generation: 1,
  status: 'active',
};
const hash = createHash('sha256').update('svc_x').digest();

let clock: FixedClock;
let stored: ResolvedKey | null;
let asked: number;
let feeds: InvalidationFeeds;
let records: KeyRecords;

beforeEach(() => {
  clock = new FixedClock();
  stored = apiKey;
  asked = 0;
  feeds = fakeFeeds(clock);
  records = new KeyRecords(fakeSources({ keys: { resolve: () => Promise.resolve((asked++, stored)) } }), feeds, clock);
});

describe('KeyRecords', () => {
  it('reads a record once', async () => {
    await records.find(hash);
    expect((await records.find(hash))?.record).toBe(apiKey);
    expect(asked).toBe(1);
  });

  it('remembers an unknown key for ten seconds', async () => {
    stored = null;
    await records.find(hash);
    clock.advance(9_999);
    expect(await records.find(hash)).toBeNull();
    expect(asked).toBe(1);
    clock.advance(1);
    await records.find(hash);
    expect(asked).toBe(2);
  });

  it.each([
    ['it is created', { keyIds: ['key-1'], keyHashes: [hash.toString('hex')] }],
    ['a tenant changes', { keyIds: [], keyHashes: [], partnerIds: ['partner-1'] }],
  ])('finds an unknown key as soon as %s', async (_, named) => {
    stored = null;
    expect(await records.find(hash)).toBeNull();
    stored = apiKey;
    records.onCredentialsChanged({ kind: 'api_key', reason: 'created', ...named });
    expect((await records.find(hash))?.record.keyId).toBe('key-1');
  });

  it('keeps unknown keys while other keys are created', async () => {
    stored = null;
    await records.find(hash);
    records.onCredentialsChanged({
      kind: 'api_key',
      keyIds: ['key-2'],
      keyHashes: ['00'.repeat(32)],
      reason: 'created',
    });
    await records.find(hash);
    expect(asked).toBe(1);
  });

  it('ends a key by the time left in the database, whatever the clock of this process says', async () => {
    stored = { ...apiKey, expiresAt: new Date(clock.nowMs() + 10_000).toISOString(), expiresInMs: 10_000 };
    const known = await records.find(hash);
    clock.set(new Date(clock.nowMs() - 3_600_000));
    clock.advance(9_999);
    expect(known?.isValid(clock.monotonicMs())).toBe(true);
    clock.advance(1);
    expect(known?.isValid(clock.monotonicMs())).toBe(false);
  });

  it.each([
    ['by its id', { keyIds: ['key-1'], keyHashes: [] }],
    ['by its hash', { keyIds: [], keyHashes: [hash.toString('hex')] }],
  ])('drops a record that credentials names %s', async (_, named) => {
    await records.find(hash);
    stored = { ...apiKey, status: 'revoked' };
    records.onCredentialsChanged({ kind: 'api_key', reason: 'revoked', ...named });
    expect((await records.find(hash))?.record.status).toBe('revoked');
  });

  it.each([
    ['of its organization', { orgIds: ['org-1'] }, 2],
    ['of its partner', { partnerIds: ['partner-1'] }, 2],
    ['of another tenant', { orgIds: ['org-2'], partnerIds: ['partner-2'] }, 1],
  ])('drops records by what credentials names %s', async (_, tenant, reads) => {
    await records.find(hash);
    records.onCredentialsChanged({ kind: 'api_key', reason: 'tenant_changed', keyIds: [], keyHashes: [], ...tenant });
    await records.find(hash);
    expect(asked).toBe(reads);
  });

  it('reads a record again that is revoked during the read', async () => {
    let respond: (record: ResolvedKey) => void = () => undefined;
    const deferred = { resolve: () => new Promise<ResolvedKey>((resolve) => (asked++, (respond = resolve))) };
    records = new KeyRecords(fakeSources({ keys: deferred }), feeds, clock);
    const found = records.find(hash);
    records.onCredentialsChanged({ kind: 'api_key', keyIds: ['key-1'], keyHashes: [], reason: 'revoked' });
    respond(apiKey);
    await new Promise((resolve) => setImmediate(resolve));
    respond({ ...apiKey, status: 'revoked' });
    expect((await found)?.record.status).toBe('revoked');
    expect(asked).toBe(2);
  });

  it.each([
    ['its creator', { userIds: ['11111111-1111-4111-8111-111111111111'] }, 2],
    ['any role, since its creator may have it', { roleIds: ['role-9'] }, 2],
    ['a role of its partner', { roleIds: ['role-9'], partnerId: 'partner-1' }, 2],
    ['a role of another partner', { roleIds: ['role-9'], partnerId: 'partner-2' }, 1],
    ['a role of its organization', { roleIds: ['role-9'], partnerId: 'partner-1', orgId: 'org-1' }, 2],
    ['a role of another organization', { roleIds: ['role-9'], partnerId: 'partner-1', orgId: 'org-2' }, 1],
    ['its partner', { partnerIds: ['partner-1'] }, 2],
    ['its organization', { orgIds: ['org-1'] }, 2],
    ['another user', { userIds: ['user-2'], partnerIds: ['p'], orgIds: ['o'] }, 1],
  ])('drops records on changes of %s', async (_, change, reads) => {
    await records.find(hash);
    records.onAccessChanged({ ...change, reason: 'spec' });
    await records.find(hash);
    expect(asked).toBe(reads);
  });

  it('keeps the key of a principal on changes of users and roles', async () => {
    stored = { ...apiKey, principalId: 'principal-2' };
    await records.find(hash);
    const change = { userIds: [apiKey.createdBy ?? ''], roleIds: ['role-1'], reason: 'spec' };
    records.onAccessChanged(change);
    records.onAccessChanged({ ...change, partnerId: 'partner-1' });
    await records.find(hash);
    expect(asked).toBe(1);
  });

  it('drops a partner key on changes of its partner only', async () => {
    stored = partnerKey;
    await records.find(hash);
    records.onAccessChanged({
      userIds: ['11111111-1111-4111-8111-111111111111'],
      roleIds: ['role-1'],
      orgIds: ['org-1'],
      reason: 'spec',
    });
    await records.find(hash);
    expect(asked).toBe(1);
    records.onAccessChanged({ partnerIds: ['partner-1'], reason: 'spec' });
    await records.find(hash);
    expect(asked).toBe(2);
  });

  it('reads an expired key again, so that credentials records the expiry', async () => {
    stored = { ...apiKey, expiresAt: new Date(0).toISOString(), expiresInMs: 10_000 };
    await records.find(hash);
    clock.advance(10_000);
    stored = { ...apiKey, status: 'expired' };
    expect((await records.find(hash))?.record.status).toBe('expired');
  });

  it.each(['access', 'credentials', 'organizations'] as const)(
    'throws UnavailableError for an API key while the feed %s is silent',
    async (silent) => {
      await records.find(hash);
      clock.advance(30_001);
      for (const feed of ['access', 'credentials', 'organizations'] as const) {
        if (feed !== silent) feeds[feed].onHeartbeat({ publisher: 'p', sequence: 1, intervalMs: 1_000 });
      }
      await expect(records.find(hash)).rejects.toBeInstanceOf(UnavailableError);
    },
  );

  it('finds a partner key while the feed of organizations is silent', async () => {
    stored = partnerKey;
    clock.advance(30_001);
    for (const feed of ['access', 'credentials'] as const) {
      feeds[feed].onHeartbeat({ publisher: 'p', sequence: 1, intervalMs: 1_000 });
    }
    expect((await records.find(hash))?.record).toBe(partnerKey);
  });
});
