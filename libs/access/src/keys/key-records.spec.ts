import type { ResolvedApiKey, ResolvedKey, ResolvedPartnerKey } from '@rmm/contracts';
import { FixedClock, UnavailableError } from '@rmm/service-kit';
import { createHash } from 'node:crypto';
import { InvalidationFeed } from '../feed/invalidation-feed.js';
import { KeyRecords } from './key-records.js';

const apiKey: ResolvedApiKey = {
  kind: 'api_key',
  keyId: 'key-1',
  orgId: 'org-1',
  partnerId: 'partner-1',
  scopes: ['devices:read'],
  rateLimit: 1_000,
  expiresAt: null,
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
  principalId: 'principal-1',
  partnerId: 'partner-1',
  scopes: ['sites:read'],
  rateLimit: 600,
  expiresAt: null,
  sourceCidrs: [],
  generation: 1,
  status: 'active',
};
const hash = createHash('sha256').update('svc_x').digest();

let clock: FixedClock;
let stored: ResolvedKey | null;
let asked: number;
let feeds: InvalidationFeed[];
let records: KeyRecords;

beforeEach(() => {
  clock = new FixedClock();
  stored = apiKey;
  asked = 0;
  feeds = [1, 2].map(() => new InvalidationFeed({ clock, maxSilenceMs: 30_000, onGap: () => undefined }));
  records = new KeyRecords(() => ({ resolve: () => Promise.resolve((asked++, stored)) }), feeds, clock);
});

describe('the record of a key', () => {
  it('is asked for once', async () => {
    await records.find(hash);
    expect((await records.find(hash))?.record).toBe(apiKey);
    expect(asked).toBe(1);
  });

  it('of an unknown key is asked for every time', async () => {
    stored = null;
    await records.find(hash);
    await records.find(hash);
    expect(asked).toBe(2);
  });

  it.each([
    ['by its id', { keyIds: ['key-1'], keyHashes: [] }],
    ['by its hash', { keyIds: [], keyHashes: [hash.toString('hex')] }],
  ])('is dropped when credentials names it %s', async (_, named) => {
    await records.find(hash);
    stored = { ...apiKey, status: 'revoked' };
    records.credentialsChanged({ kind: 'api_key', reason: 'revoked', ...named });
    expect((await records.find(hash))?.record.status).toBe('revoked');
  });

  it.each([
    ['of its organization', { orgIds: ['org-1'] }, 2],
    ['of its partner', { partnerIds: ['partner-1'] }, 2],
    ['of another tenant', { orgIds: ['org-2'], partnerIds: ['partner-2'] }, 1],
  ])('follows what credentials learns %s', async (_, tenant, reads) => {
    await records.find(hash);
    records.credentialsChanged({ kind: 'api_key', reason: 'tenant_changed', keyIds: [], keyHashes: [], ...tenant });
    await records.find(hash);
    expect(asked).toBe(reads);
  });

  it('that is revoked while it is being read is read again', async () => {
    let answer: (record: ResolvedKey) => void = () => undefined;
    const held = { resolve: () => new Promise<ResolvedKey>((resolve) => (asked++, (answer = resolve))) };
    records = new KeyRecords(() => held, feeds, clock);
    const found = records.find(hash);
    records.credentialsChanged({ kind: 'api_key', keyIds: ['key-1'], keyHashes: [], reason: 'revoked' });
    answer(apiKey);
    await new Promise((resolve) => setImmediate(resolve));
    answer({ ...apiKey, status: 'revoked' });
    expect((await found)?.record.status).toBe('revoked');
    expect(asked).toBe(2);
  });

  it.each([
    ['its creator', { userIds: ['11111111-1111-4111-8111-111111111111'] }, 2],
    ['any role, since its creator may hold it', { roleIds: ['role-9'] }, 2],
    ['its partner', { partnerIds: ['partner-1'] }, 2],
    ['its organization', { orgIds: ['org-1'] }, 2],
    ['somebody else', { userIds: ['user-2'], partnerIds: ['p'], orgIds: ['o'] }, 1],
  ])('follows changes of %s', async (_, change, reads) => {
    await records.find(hash);
    records.accessChanged({ ...change, reason: 'spec' });
    await records.find(hash);
    expect(asked).toBe(reads);
  });

  it('of a partner follows its partner only', async () => {
    stored = partnerKey;
    await records.find(hash);
    records.accessChanged({
      userIds: ['11111111-1111-4111-8111-111111111111'],
      roleIds: ['role-1'],
      orgIds: ['org-1'],
      reason: 'spec',
    });
    await records.find(hash);
    expect(asked).toBe(1);
    records.accessChanged({ partnerIds: ['partner-1'], reason: 'spec' });
    await records.find(hash);
    expect(asked).toBe(2);
  });

  it('whose key has lapsed is asked for again, so that its owner learns of it', async () => {
    stored = { ...apiKey, expiresAt: new Date(clock.nowMs() + 10_000).toISOString() };
    await records.find(hash);
    clock.advance(10_000);
    stored = { ...apiKey, status: 'expired' };
    expect((await records.find(hash))?.record.status).toBe('expired');
  });

  it.each([0, 1])('is not given out while feed %i is silent', async (silent) => {
    await records.find(hash);
    clock.advance(30_001);
    feeds[1 - silent].heard({ publisher: 'p', sequence: 1, intervalMs: 1_000 });
    await expect(records.find(hash)).rejects.toBeInstanceOf(UnavailableError);
  });
});
