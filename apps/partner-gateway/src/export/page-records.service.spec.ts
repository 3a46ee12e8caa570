import type { ExportedSite } from '@rmm/contracts';
import {
  type ExportResource,
  type RecordBase,
  type RecordSource,
  type SerializedRecord,
  SITES,
} from './export-record.mapper.js';
import { RecordSchemaViolation } from './export.errors.js';
import { MAX_PAGE_BYTES, PageRecordsService } from './page-records.service.js';
import type { RecordSchemasService } from './record-schemas.service.js';

const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const siteOf = (n: number, more: Partial<ExportedSite> = {}): RecordSource<ExportedSite> => ({
  id: idOf(n),
  siteId: idOf(n),
  orgId: idOf(0),
  sourceUpdatedAt: '2026-03-01T12:00:00.000Z',
  name: `Site ${n}`,
  timezone: 'UTC',
  address: null,
  contact: null,
  ...more,
});

const recordOf = ({ json }: SerializedRecord) => JSON.parse(json) as RecordBase;

interface Script {
  content: string;
}
const SCRIPTS = {
  name: 'scripts',
  defaultLimit: 100,
  maxCharacters: { content: 12_288 },
  fieldsOf: ({ content }: Script) => ({ content }),
} as unknown as ExportResource<Script>;
const scriptOf = (n: number, content: string): RecordSource<Script> => ({ ...siteOf(n), content });

describe('PageRecordsService', () => {
  let checked: string[];
  let pages: PageRecordsService;

  beforeEach(() => {
    checked = [];
    const assertValid = (resource: string, { name, id }: { name?: string; id: string }) => {
      if (name === 'Invalid') throw new RecordSchemaViolation(resource, { path: 'name', keyword: 'type' });
      checked.push(id);
    };
    pages = new PageRecordsService({ assertValid } as unknown as RecordSchemasService);
  });

  it('exports records that contain no secret, in their order', async () => {
    const { data, blocked, count } = await pages.select(SITES, [siteOf(2), siteOf(1)]);
    expect(data.map(recordOf).map(({ id }) => id)).toEqual([idOf(2), idOf(1)]);
    expect(recordOf(data[0])).toMatchObject({ name: 'Site 2', revision: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect([blocked, count]).toEqual([[], 2]);
    expect(checked).toEqual([idOf(2), idOf(1)]);
  });

  it('withholds a whole record with a secret and counts it', async () => {
    const secret = siteOf(2, { contact: { name: 'Wi-Fi password: Summ3r!24', email: null, phone: null } });
    const { data, blocked, count } = await pages.select(SITES, [siteOf(1), secret, siteOf(3)]);
    expect(data.map(recordOf).map(({ id }) => id)).toEqual([idOf(1), idOf(3)]);
    expect(blocked).toEqual([
      { resource: 'sites', id: idOf(2), orgId: idOf(0), reason: 'secret_detected', fieldPaths: ['contact.name'] },
    ]);
    expect(count).toBe(3);
    expect(checked).not.toContain(idOf(2));
  });

  it('withholds content that is longer than its resource allows', async () => {
    const { data, blocked } = await pages.select(SCRIPTS, [
      scriptOf(1, 'a b '.repeat(3_072)),
      scriptOf(2, 'x'.repeat(12_289)),
    ]);
    expect(data.map(recordOf).map(({ id }) => id)).toEqual([idOf(1)]);
    expect(blocked).toMatchObject([{ id: idOf(2), reason: 'content_too_large', fieldPaths: ['content'] }]);
  });

  it('throws for a record that differs from its published schema', async () => {
    await expect(pages.select(SITES, [siteOf(1), siteOf(2, { name: 'Invalid' })])).rejects.toThrow(
      RecordSchemaViolation,
    );
  });

  it('ends a page before it has more bytes than allowed', async () => {
    const text = 'a b '.repeat(25_000); // 100 KB
    const sources = Array.from({ length: 500 }, (_, n) => siteOf(n + 1, { name: text }));
    const { data, count } = await pages.select(SITES, sources);
    const bytes = Buffer.byteLength(JSON.stringify(data.map(recordOf)));
    expect(bytes).toBeLessThanOrEqual(MAX_PAGE_BYTES);
    expect(bytes).toBeGreaterThan(MAX_PAGE_BYTES - 2 * 100_500);
    expect(count).toBe(data.length);
    expect(recordOf(data[count - 1]).id).toBe(idOf(count));
    const next = await pages.select(SITES, sources.slice(count));
    expect(recordOf(next.data[0]).id).toBe(idOf(count + 1));
  });

  it('measures bytes, not characters, and the entries of withheld records too', async () => {
    const wide = Array.from({ length: 100 }, (_, n) => siteOf(n + 1, { name: 'ü'.repeat(100_000) }));
    expect((await pages.select(SITES, wide)).count).toBe(41);
    const long = 'k'.repeat(64);
    const nested = Object.fromEntries(
      Array.from({ length: 20 }, (_, n) => [`${n}${long}`.slice(0, 64), { [long]: { [long]: { password: 'x' } } }]),
    );
    const settings = { ...SITES, fieldsOf: () => ({ settings: nested }) };
    const withheld = await pages.select(
      settings,
      Array.from({ length: 2_200 }, (_, n) => siteOf(n + 1)),
    );
    expect(withheld.data).toEqual([]);
    expect(withheld.blocked[0].fieldPaths).toHaveLength(20);
    expect(withheld.count).toBeLessThan(2_200);
    expect(Buffer.byteLength(JSON.stringify(withheld.blocked))).toBeLessThanOrEqual(MAX_PAGE_BYTES);
  });

  it('has one record at least, however large', async () => {
    const huge = siteOf(1, { name: 'a b '.repeat(MAX_PAGE_BYTES / 4) });
    const { data, count } = await pages.select(SITES, [huge, siteOf(2)]);
    expect([data.map((each) => recordOf(each).id), count]).toEqual([[idOf(1)], 1]);
    expect(await pages.select(SITES, [])).toEqual({ data: [], blocked: [], count: 0 });
  });
});
