import { createHash } from 'node:crypto';
import type { ExportedSite } from '@rmm/contracts';
import { canonicalJson, revisionOf } from './canonical-json.js';
import { ORGANIZATIONS, SITES, toRecord } from './export-record.mapper.js';

const base = { id: 's', orgId: 'o', siteId: 's', sourceUpdatedAt: '2026-03-01T12:00:00.000Z' };

describe('canonicalJson', () => {
  it('sorts keys at every depth, keeps the order of lists and leaves undefined out', () => {
    expect(canonicalJson({ b: [{ z: 1, a: null }, 2], a: 'é"', c: undefined })).toBe(
      '{"a":"é\\"","b":[{"a":null,"z":1},2]}',
    );
    expect(revisionOf('{"a":1}')).toBe(createHash('sha256').update('{"a":1}').digest('hex'));
  });

  it.each([2, 24, 25, 200])('sorts %i names', (count) => {
    const names = Array.from({ length: count }, (_, n) => `n${(n * 7_919) % 1_000}`);
    const sorted = [...new Set(names)].sort().map((name) => `"${name}":0`);
    expect(canonicalJson(Object.fromEntries(names.map((name) => [name, 0])))).toBe(`{${sorted.join(',')}}`);
  });

  it('sorts names as texts that an object orders as numbers, and keeps a name that an object does not take', () => {
    const value: unknown = JSON.parse('{"b":{"9":1,"10":[{"2":0,"1":0}],"-1":2},"__proto__":{"z":1,"a":2}}');
    expect(canonicalJson(value)).toBe('{"__proto__":{"a":2,"z":1},"b":{"-1":2,"10":[{"1":0,"2":0}],"9":1}}');
  });
});

describe('toRecord', () => {
  const site: ExportedSite & typeof base = {
    ...base,
    name: 'Main Office \u{1F3E2}',
    timezone: 'UTC',
    address: { line1: 'A 1', city: 'B' } as ExportedSite['address'],
    contact: null,
  };

  it('returns the base and named fields only, null for unknown values', () => {
    const { record, json } = toRecord(SITES, Object.assign({ internalNote: 'x' }, site));
    const { revision, ...rest } = record;
    expect(rest).toEqual({
      ...base,
      name: 'Main Office \u{1F3E2}',
      timezone: 'UTC',
      address: { line1: 'A 1', line2: null, city: 'B', region: null, postalCode: null, country: null },
      contact: null,
    });
    expect(revision).toBe(revisionOf(canonicalJson(rest)));
    expect(JSON.parse(json)).toEqual(record);
    expect(json.startsWith(canonicalJson(rest).slice(0, -1))).toBe(true);
  });

  it('changes the revision when a field differs', () => {
    expect(toRecord(SITES, { ...site, name: 'Other' }).record.revision).not.toBe(toRecord(SITES, site).record.revision);
  });

  it('throws when a field is missing', () => {
    const source = { ...base, name: 'N', slug: 'n', type: 'customer' } as never;
    expect(() => toRecord(ORGANIZATIONS, source)).toThrow('A record of organizations has no status');
  });
});
