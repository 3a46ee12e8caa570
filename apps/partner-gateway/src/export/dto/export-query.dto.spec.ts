import { readExportQuery } from './export-query.dto.js';

const ORG = 'A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11';
const read = (query: Record<string, unknown>) => readExportQuery(query, { defaultLimit: 100 });
const readWithSites = (query: Record<string, unknown>) => readExportQuery(query, { defaultLimit: 100, hasSites: true });

describe('readExportQuery', () => {
  it('applies defaults', () => {
    expect(read({})).toEqual({ orgId: null, siteId: null, updatedSince: null, cursor: null, limit: 100 });
  });

  it('normalizes values', () => {
    expect(read({ orgId: ORG, updatedSince: '2026-03-01T13:00:00+02:00', cursor: 'a.b', limit: '500' })).toEqual({
      orgId: ORG.toLowerCase(),
      siteId: null,
      updatedSince: '2026-03-01T11:00:00.000Z',
      cursor: 'a.b',
      limit: 500,
    });
  });

  it.each([
    [{ color: 'blue' }, 'invalid_partner_export_query'],
    [{ siteId: ORG }, 'invalid_partner_export_query'],
    [{ page: '2' }, 'invalid_partner_export_query'],
    [{ orgId: 'x' }, 'invalid_partner_export_query'],
    [{ orgId: '' }, 'invalid_partner_export_query'],
    [{ orgId: [ORG, ORG] }, 'invalid_partner_export_query'],
    [{ limit: ['1', '2'] }, 'invalid_partner_export_query'],
    [{ limit: '0' }, 'invalid_partner_export_pagination'],
    [{ limit: '501' }, 'invalid_partner_export_pagination'],
    [{ limit: '1e2' }, 'invalid_partner_export_pagination'],
    [{ limit: '' }, 'invalid_partner_export_pagination'],
    [{ updatedSince: '2026-03-01T11:00:00' }, 'invalid_partner_export_pagination'],
    [{ updatedSince: '2026-02-30T12:00:00Z' }, 'invalid_partner_export_pagination'],
    [{ cursor: '' }, 'invalid_partner_export_cursor'],
    [{ cursor: 'x'.repeat(4097) }, 'invalid_partner_export_cursor'],
  ])('%j is 400 %s', (query, code) => {
    expect(() => read(query)).toThrow(expect.objectContaining({ status: 400, code }));
  });

  it('reads siteId for resources of sites only', () => {
    expect(readWithSites({ siteId: ORG }).siteId).toBe(ORG.toLowerCase());
    for (const siteId of ['x', '', [ORG, ORG]]) {
      expect(() => readWithSites({ siteId })).toThrow(
        expect.objectContaining({ code: 'invalid_partner_export_query' }),
      );
    }
    expect(() => readWithSites({ color: 'x' })).toThrow(
      expect.objectContaining({ code: 'invalid_partner_export_query' }),
    );
  });
});
