import type { AuditTrail } from '@rmm/messaging';
import type { TenantDatabase } from '@rmm/persistence';
import type { Logger } from '@rmm/service-kit';
import type { PsaConnectionsRepository } from '../psa-connections.repository.js';
import { PsaCredentialsIncomplete, PsaCredentialsRejected, PsaFailed, PsaRequestRefused } from '../psa.errors.js';
import { PsaSyncFailuresService } from './psa-sync-failures.service.js';
import { PsaSyncSkipped } from './psa-sync.errors.js';
import type { PsaSyncClaim, PsaSyncEnd, PsaSyncsRepository } from './psa-syncs.repository.js';

const CLAIM: PsaSyncClaim = {
  connectionId: 'c-1',
  partnerId: 'p-1',
  leaseId: 'l-1',
  rule: 'propose',
  intervalMinutes: 1_440,
  failures: 0,
  credentialFailures: 0,
};
const REJECTED = new PsaCredentialsRejected('The PSA refused the credentials');

describe('PsaSyncFailuresService', () => {
  const finish = jest.fn();
  const audit = jest.fn();
  const warn = jest.fn();
  const lockLeased = jest.fn();
  const failures = new PsaSyncFailuresService(
    { transaction: (_caller: unknown, work: (tx: object) => unknown) => work({}) } as unknown as TenantDatabase,
    { finish, lockLeased } as unknown as PsaSyncsRepository,
    { findName: () => Promise.resolve('PSA') } as unknown as PsaConnectionsRepository,
    { record: audit } as unknown as AuditTrail,
    { warn } as unknown as Logger,
  );
  beforeEach(() => {
    jest.resetAllMocks();
    lockLeased.mockResolvedValue(true);
  });

  async function endOf(error: unknown, claim: Partial<PsaSyncClaim> = {}): Promise<PsaSyncEnd> {
    await failures.record({ ...CLAIM, ...claim }, error);
    return (finish.mock.calls[0] as [unknown, unknown, PsaSyncEnd])[2];
  }

  it.each<[string, Error, { code: string; message: string }]>([
    ['a failing PSA', new PsaFailed('Status 500'), { code: 'upstream_failed', message: 'Status 500' }],
    ['a redirect', new PsaRequestRefused('Redirected'), { code: 'psa_request_refused', message: 'Redirected' }],
    [
      'an error of this service, without its text',
      new Error('password=secret'),
      { code: 'internal_error', message: 'The sync failed by an error of this service, which its log contains' },
    ],
  ])('plans a retry after %s', async (_what, error, shown) => {
    const end = await endOf(error, { failures: 1, credentialFailures: 4 });
    expect(end).toMatchObject({ failures: 2, credentialFailures: 0, result: { outcome: 'failed', error: shown } });
    expect(end.nextInSeconds).toBeGreaterThan(500);
    expect(end.nextInSeconds).toBeLessThan(700);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(audit).not.toHaveBeenCalled();
  });

  it.each([REJECTED, new PsaCredentialsIncomplete(['apiToken'])])(
    'disables the sync after the fifth failure of the credentials in a row and audits it (%s)',
    async (error) => {
      expect((await endOf(error, { credentialFailures: 3 })).nextInSeconds).toBeGreaterThan(0);
      finish.mockClear();
      const end = await endOf(error, { failures: 7, credentialFailures: 4 });
      expect(end).toMatchObject({ nextInSeconds: null, failures: 8, credentialFailures: 5 });
      expect(audit.mock.calls[0]?.slice(2)).toEqual([
        'psa.sync.disable',
        { type: 'psa_connection', id: 'c-1', name: 'PSA', partnerId: 'p-1', orgId: null },
        { reason: 'credentials', failures: 5 },
        'failure',
        error.error,
      ]);
    },
  );

  it('counts a skipped run as no failure and waits for the interval', async () => {
    const end = await endOf(new PsaSyncSkipped('partner_inactive', 'The partner is not active'), { failures: 3 });
    expect(end).toMatchObject({ failures: 0, result: { outcome: 'skipped', error: { code: 'partner_inactive' } } });
    expect(end.nextInSeconds).toBeGreaterThan(0.89 * 86_400);
    expect(warn).not.toHaveBeenCalled();
  });

  it('stores nothing when the lease is lost', async () => {
    lockLeased.mockResolvedValue(false);
    await failures.record({ ...CLAIM, credentialFailures: 4 }, REJECTED);
    expect(finish).not.toHaveBeenCalled();
    expect(audit).not.toHaveBeenCalled();
  });
});
