import { entityTagOf, toJson } from './export-page.interceptor.js';
import type { SerializedRecord } from './export-record.mapper.js';
import type { ExportPage } from './export.service.js';

function recordOf(revision: string): SerializedRecord {
  const record = { id: 'ü"', orgId: 'o', siteId: null, sourceUpdatedAt: '2026-03-01T12:00:00.000Z', revision };
  return { revision, json: JSON.stringify(record) };
}
const page: ExportPage = {
  schemaVersion: '1',
  snapshotAt: '2026-03-01T12:00:00.000Z',
  data: [recordOf('a'.repeat(64)), recordOf('b'.repeat(64))],
  nextCursor: null,
  hasMore: false,
};
const blocked: ExportPage['blocked'] = [
  { resource: 'sites', id: 'i', orgId: 'o', reason: 'secret_detected', fieldPaths: ['name'] },
];

describe('entityTagOf', () => {
  it('returns a weak tag that does not depend on the time of the snapshot', () => {
    expect(entityTagOf(page)).toMatch(/^W\/"[A-Za-z0-9_-]{27}"$/);
    expect(entityTagOf({ ...page, snapshotAt: '2027-01-01T00:00:00.000Z' })).toBe(entityTagOf(page));
  });

  it.each([
    ['a changed record', { data: [recordOf('a'.repeat(64)), recordOf('c'.repeat(64))] }],
    ['another order', { data: [...page.data].reverse() }],
    ['a removed record', { data: page.data.slice(1) }],
    ['no record', { data: [] }],
    ['a withheld record', { blocked }],
    ['a next page', { nextCursor: 'x.y', hasMore: true }],
  ])('differs with %s', (_what, more) => {
    expect(entityTagOf({ ...page, ...more })).not.toBe(entityTagOf(page));
  });
});

describe('toJson', () => {
  it.each<[string, Partial<ExportPage>]>([
    ['records', {}],
    ['no records', { data: [] }],
    ['withheld records', { blocked }],
    ['a next page', { nextCursor: 'x.y', hasMore: true }],
  ])('returns the page with %s', (_what, more) => {
    const given = { ...page, ...more };
    expect(JSON.parse(toJson(given).toString())).toEqual({
      ...given,
      data: given.data.map(({ json }) => JSON.parse(json) as unknown),
    });
  });
});
