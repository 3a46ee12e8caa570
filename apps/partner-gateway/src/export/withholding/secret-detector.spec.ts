import { createHash } from 'node:crypto';
import { ordinaryRecords } from '../../../test/ordinary-records.js';
import { ORDINARY_TEXTS } from '../../../test/ordinary-texts.js';
import { secretSamples } from '../../../test/secret-positives.js';
import { findSecretPaths } from './secret-detector.js';
import { findWithheld } from './withheld-record.js';

const ORDINARY = 5_000;
const print = (text: string) => process.stdout.write(`${text}\n`);

describe('the corpus', () => {
  const samples = secretSamples();

  it('has 200 kinds of secrets or more, and all of them are found', () => {
    const missed = samples.filter(({ record }) => findSecretPaths(record).length === 0).map(({ kind }) => kind);
    print(`secrets found: ${samples.length - missed.length} of ${samples.length}`);
    expect(new Set(samples.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(200);
    expect(missed).toEqual([]);
  });

  it.each([false, true])('has no ordinary record that is withheld (machine-observed: %s)', (isMachineObserved) => {
    const ordinary = ordinaryRecords(ORDINARY);
    const withheld = ordinary.flatMap(({ kind, record }) =>
      findSecretPaths(record, { isMachineObserved }).map((path) => `${kind} ${path}: ${JSON.stringify(record)}`),
    );
    print(`ordinary records withheld: ${withheld.length} of ${ordinary.length}`);
    expect(withheld).toEqual([]);
  });

  it.each(ORDINARY_TEXTS)('has no secret in %s', (text) => {
    for (const record of [{ name: text }, { contact: { name: text } }, { content: `# ${text}\n${text}\nexit 0` }]) {
      expect(findSecretPaths(record)).toEqual([]);
    }
  });

  it('leaves neither a value nor its hash in what is returned', () => {
    for (const { kind, record } of samples) {
      const entry = JSON.stringify(findWithheld({ name: 'sites' }, { id: 'i', orgId: 'o', ...record }));
      for (const value of stringsOf(record).filter(({ length }) => length > 6)) {
        const hash = createHash('sha256').update(value).digest();
        const found = [value, hash.toString('hex'), hash.toString('base64'), hash.toString('base64url')].filter(
          (text) => entry.includes(text),
        );
        expect({ kind, found }).toEqual({ kind, found: [] });
      }
    }
  });

  /** Returns the texts in a record. The names of fields are none, unless they are secrets themselves. */
  function stringsOf(value: unknown): string[] {
    if (typeof value === 'string') return [value];
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsOf) : [];
  }
});

describe('findSecretPaths', () => {
  const SECRET = `ghp_${'aB3'.repeat(12)}`;
  const RANDOM = 'q7Zk2Vx9Lm4Tp8Wr3Nc6Yb1Hf5Jd0Gs7';

  it('names each field with a secret', () => {
    expect(
      findSecretPaths({
        name: SECRET,
        contact: { name: 'x', email: SECRET },
        features: [{}, { settings: { token: 'x' } }],
      }),
    ).toEqual(['name', 'contact.email', 'features.1.settings.token']);
  });

  it('skips random-looking text of machine-observed records, and nothing else', () => {
    expect(findSecretPaths({ name: RANDOM })).toEqual(['name']);
    expect(findSecretPaths({ name: RANDOM }, { isMachineObserved: true })).toEqual([]);
    const options = { isMachineObserved: true };
    expect(
      findSecretPaths({ a: SECRET, b: 'https://u:Summ3r!@h', password: 'x', c: 'password=Summ3r!' }, options),
    ).toEqual([...['a', 'b', 'password', 'c']]);
  });

  it('does not examine ids, times and the revision of the record itself', () => {
    const record = { id: RANDOM, orgId: RANDOM, siteId: RANDOM, sourceUpdatedAt: RANDOM, revision: 'a1'.repeat(32) };
    expect(findSecretPaths(record)).toEqual([]);
    expect(findSecretPaths({ inner: { revision: 'a1'.repeat(32) } })).toEqual(['inner.revision']);
  });

  it('returns at most 20 paths of 256 safe characters', () => {
    const long = 'k'.repeat(60);
    const nested = { [long]: { [long]: { [long]: { [long]: { [long]: { password: 'x' } } } } } };
    const record = { nested, map: { 'a\u0000b c.d"': SECRET, [SECRET]: 1, ['x'.repeat(65)]: SECRET } };
    const paths = findSecretPaths(record);
    expect(paths).toEqual([
      [...['nested', long, long, long, long, long, 'password']].join('.').slice(0, 256),
      'map.*',
      'map.*',
      'map.*',
    ]);
    const many = findSecretPaths({ list: Array.from({ length: 100 }, () => SECRET) });
    expect(many).toHaveLength(20);
    for (const path of [...paths, ...many]) expect(path).toMatch(/^[\w.*-]{1,256}$/);
  });

  it('withholds a record that is too deep or has too many values to be checked', () => {
    let deep: object = { x: 1 };
    for (let n = 0; n < 40; n += 1) deep = { x: deep };
    expect(findSecretPaths(deep)).toEqual([Array.from({ length: 33 }, () => 'x').join('.')]);
    let allowed: object = { x: 1 };
    for (let n = 0; n < 31; n += 1) allowed = { x: allowed };
    expect(findSecretPaths(allowed)).toEqual([]);
    const wide = (count: number) => ({ list: Array.from({ length: count }, () => 1) });
    expect(findSecretPaths(wide(99_999))).toEqual([]);
    expect(findSecretPaths(wide(100_000))).toEqual(['list.99999']);
  });

  it('takes a masked, empty or referenced value for none', () => {
    for (const value of [
      '',
      '  ',
      '********',
      'xxxx',
      '${PASSWORD}',
      '{{ vault.x }}',
      '<password>',
      '%PASSWORD%',
      null,
      true,
      {},
      [],
    ]) {
      expect(findSecretPaths({ settings: { password: value } })).toEqual([]);
    }
  });

  it.each([
    ['a long word', 'a'.repeat(1_000_000)],
    ['separators', '='.repeat(300_000) + ':'.repeat(300_000)],
    ['assignments', 'password = '.repeat(50_000)],
    ['the start of tokens', 'eyJ'.repeat(100_000) + 'ghp_'.repeat(100_000)],
    ['URLs', 'a://'.repeat(200_000)],
    ['options', '--password '.repeat(50_000)],
    ['commands', 'mysql net user -u '.repeat(30_000)],
    ['dashes', '-----BEGIN '.repeat(50_000)],
    ['XML', '<RSAKeyValue>'.repeat(20_000)],
    ['words', 'aB3x'.repeat(10_000).replaceAll('3', 'e')],
  ])('examines a megabyte of %s to its end', (_what, text) => {
    expect(findSecretPaths({ a: text, b: SECRET })).toContain('b');
  });

  it('accepts every field of the published records', () => {
    for (const record of publishedRecords()) expect(findSecretPaths(record)).toEqual([]);
  });
});

/** A record of each resource with ordinary values. */
function publishedRecords(): object[] {
  const id = '0b0f7a52-4b36-4a53-9c1c-2f2f4a6a9d10';
  const base = { id, orgId: id, siteId: id, sourceUpdatedAt: '2026-03-01T12:00:00.000Z', revision: 'a1'.repeat(32) };
  const collection = { total: 1, included: 1, complete: true, reason: null };
  const records = [
    { name: 'Acme', slug: 'acme', type: 'customer', status: 'active' },
    {
      name: 'Main',
      timezone: 'Europe/Berlin',
      address: { line1: 'A 1', country: 'DE' },
      contact: { phone: '+49 30 1' },
    },
    {
      hostname: 'pc-1',
      type: { os: 'windows', role: 'workstation', virtual: true, virtualizationPlatform: 'hyperv' },
      operatingSystem: { edition: 'Pro', build: '22621.3155', architecture: 'x64' },
      hardwareIdentity: { serialNumber: 'VMware-56 4d 1f 2a 3b 4c 5d 6e-7f 80 91 a2 b3 c4 d5 e6', model: 'VMware7,1' },
      stableIdentifiers: { assetTag: 'A-1', inventoryId: '4711', externalId: id },
      groupMembership: { ...collection, reason: 'membership_limit_exceeded' },
      linkGroupRole: 'primary',
    },
    { subjectType: 'device', deviceId: id, virtualMachines: [{ rctEnabled: true, passthroughDisks: [] }], collection },
    { edges: [{ key: `site_device:${id}:${id}`, type: 'site_device', from: { type: 'site', id }, metadata: {} }] },
    { sourceScope: 'partner', features: [{ id, type: 'password_policy', policyId: id, settings: { minLength: 14 } }] },
    { policyId: id, level: 'device_group', targetId: id, roleFilter: null, priority: 1 },
    { trigger: { type: 'schedule' }, onFailure: 'notify', dependencies: [{ resource: 'scripts', id }] },
    { language: 'powershell', content: 'Get-Date', exitCodeSeverityMapping: { 0: 'ok' }, runAs: 'system' },
    {
      kind: 'destination',
      encryption: true,
      provider: 's3',
      completenessGaps: [{ code: 'restore_procedure_unavailable' }],
    },
    {
      fieldKey: 'asset_tag',
      name: 'Asset tag',
      type: 'text',
      options: null,
      defaultValue: 'none',
      deviceTypes: ['server'],
    },
    { definitionId: id, target: { type: 'device', id }, name: 'Floor', fieldKey: 'floor', type: 'text', value: '3' },
  ];
  return records.map((fields) => ({ ...base, ...fields }));
}
