import { randomUUID } from 'node:crypto';
import type { ErasureReport } from '@rmm/contracts';
import type { AuditTrail } from '@rmm/messaging';
import { ErasureReportsService } from './erasure-reports.service.js';
import { ERASED_NAME, type OrganizationErasuresRepository } from './organization-erasures.repository.js';

describe('ErasureReportsService', () => {
  const [orgId, partnerId] = [randomUUID(), randomUUID()];
  const report: ErasureReport = { orgId, partnerId, service: 'identity', erased: { member: 2 } };
  let finished: { recorded: boolean; isLast: boolean };
  let audited: unknown[][];

  beforeEach(() => (audited = []));
  const start = () =>
    new ErasureReportsService(
      {
        transaction: (work: (tx: unknown) => Promise<unknown>) => work('tx'),
        finishPart: (tx: unknown, part: unknown) => {
          expect([tx, part]).toEqual(['tx', report]);
          return Promise.resolve(finished);
        },
        listErased: () => Promise.resolve([{ service: 'identity', erased: { member: 2 } }]),
      } as unknown as OrganizationErasuresRepository,
      { record: (...entry: unknown[]) => Promise.resolve(audited.push(entry)) } as unknown as AuditTrail,
    );

  it.each([
    ['records a report while others are open', { recorded: true, isLast: false }],
    ['changes nothing by a repeated report', { recorded: false, isLast: false }],
  ])('%s', async (_title, result) => {
    finished = result;
    expect(await start().receive(report)).toEqual({ recorded: result.recorded });
    expect(audited).toEqual([]);
  });

  it('audits the numbers of all services with the last report, without the name of the organization', async () => {
    finished = { recorded: true, isLast: true };
    expect(await start().receive(report)).toEqual({ recorded: true });
    expect(audited).toEqual([
      [
        'tx',
        { actor: { type: 'system', id: null }, tenant: { partnerId, orgId } },
        'organization.erase',
        { type: 'organization', id: orgId, name: ERASED_NAME, orgId, partnerId },
        { services: [{ service: 'identity', erased: { member: 2 } }] },
      ],
    ]);
  });
});
