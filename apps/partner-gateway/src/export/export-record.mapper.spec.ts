import { createHash } from 'node:crypto';
import type { ExportedSite } from '@rmm/contracts';
import { canonicalJson } from '@rmm/validation';
import { ORGANIZATIONS, SITES, toRecord } from './export-record.mapper.js';

const base = { id: 's', orgId: 'o', siteId: 's', sourceUpdatedAt: '2026-03-01T12:00:00.000Z' };

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
    expect(revision).toBe(createHash('sha256').update(canonicalJson(rest)).digest('hex'));
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
