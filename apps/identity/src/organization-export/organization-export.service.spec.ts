import { randomUUID } from 'node:crypto';
import { PermissionDenied, type UserCaller } from '@rmm/access';
import type { IdentityExportRequest } from '@rmm/contracts';
import type { Permission } from '@rmm/permissions';
import { NotFoundError } from '@rmm/service-kit';
import { auditRow } from '../../test/audit-rows.js';
import { partnerCaller } from '../../test/callers.js';
import type { AccessSourceService } from '../access/access-source.service.js';
import type { AuditEntriesRepository } from '../audit/audit-entries.repository.js';
import type { AuditNamesService } from '../audit/audit-names.service.js';
import type { OrganizationExportRepository } from './organization-export.repository.js';
import { OrganizationExportService } from './organization-export.service.js';

describe('OrganizationExportService', () => {
  const [partnerId, orgId] = [randomUUID(), randomUUID()];
  let permissions: Permission[];
  let accessError: Error | undefined;
  let entrySize: number;
  let limits: number[];

  beforeEach(() => {
    [permissions, accessError, entrySize, limits] = [['audit:export'], undefined, 10, []];
  });

  const getPage = (resource: IdentityExportRequest['resource'], after: string | null = null) =>
    new OrganizationExportService(
      {
        getOrganizationEditor: (acting: unknown) => {
          expect(acting).toBe('acting');
          return accessError
            ? Promise.reject(accessError)
            : Promise.resolve({ ...partnerCaller(partnerId), permissions: new Set(permissions) });
        },
      } as unknown as AccessSourceService,
      {
        list: (_: UserCaller, request: { after: string | null }, table: string) =>
          Promise.resolve([{ id: `${table} after ${request.after}` }]),
      } as unknown as OrganizationExportRepository,
      {
        search: (_: unknown, filters: object, __: unknown, query: { limit: number; cursor: string | null }) => {
          limits.push(query.limit);
          expect(filters).toEqual({ orgId });
          const rows = Array.from({ length: query.limit }, (_row, n) => ({
            ...auditRow(partnerId, n, { orgId, details: { text: 'x'.repeat(entrySize) } }),
            ...{ sequence: n, timestamp: new Date(n) },
          }));
          return Promise.resolve({ rows, nextCursor: `after ${query.limit}` });
        },
      } as unknown as AuditEntriesRepository,
      { restore: (_: unknown, rows: unknown[]) => Promise.resolve(rows) } as unknown as AuditNamesService,
    ).getPage({ caller: 'acting' as never, orgId, partnerId, resource, after });

  it('returns the records of a table', async () => {
    expect(await getPage('member', 'x')).toEqual({ records: [{ id: 'member after x' }], next: null });
  });

  it('returns 100 audit entries, and fewer when they are long', async () => {
    expect(await getPage('audit_entry')).toMatchObject({ next: 'after 100' });
    entrySize = 20_000;
    const { records, next } = await getPage('audit_entry');
    expect([records.length, next]).toEqual([15, 'after 15']);
    expect(limits).toEqual([100, 100, 15]);
  });

  it('exports audit entries to users who may export them', async () => {
    permissions = ['organizations:write'];
    await expect(getPage('audit_entry')).rejects.toThrow(PermissionDenied);
    expect(await getPage('role')).toMatchObject({ next: null });
    expect(limits).toEqual([]);
  });

  it.each<IdentityExportRequest['resource']>(['member', 'audit_entry'])(
    'ends with the access of the user: %s',
    async (resource) => {
      accessError = new NotFoundError('Organization');
      await expect(getPage(resource)).rejects.toThrow(NotFoundError);
      expect(limits).toEqual([]);
    },
  );
});
