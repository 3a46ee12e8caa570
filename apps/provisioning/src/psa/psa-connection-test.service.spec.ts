import { FullPartnerAccessRequired, type UserCaller } from '@rmm/access';
import type { AuditTrail } from '@rmm/messaging';
import type { TenantDatabase } from '@rmm/persistence';
import type { PsaClientsService } from './psa-clients.service.js';
import { PsaConnectionTestService } from './psa-connection-test.service.js';
import type { PsaConnection, PsaConnectionStatus } from './psa-connection.entity.js';
import type { PsaConnectionsRepository } from './psa-connections.repository.js';
import { ListingTimeSpent } from './psa-http.js';
import { PsaCredentialsIncomplete, PsaCredentialsRejected, PsaFailed, PsaRequestRefused } from './psa.errors.js';

const CALLER = { tenant: { scope: 'partner', orgAccess: 'all' } } as unknown as UserCaller;
const RESTRICTED = { tenant: { scope: 'partner', orgAccess: 'selected' } } as unknown as UserCaller;

describe('PsaConnectionTestService', () => {
  const recordTest = jest.fn();
  const change = jest.fn();
  const audit = jest.fn();
  let connection: PsaConnection;
  let failure: Error | null;
  let service: PsaConnectionTestService;

  beforeEach(() => {
    jest.resetAllMocks();
    failure = null;
    connection = {
      id: 'c-1',
      name: 'PSA',
      orgId: null,
      partnerId: 'p-1',
      provider: 'zendesk',
      status: 'active',
    } as PsaConnection;
    change.mockImplementation((_tx, _id, changes: object) => Promise.resolve({ ...connection, ...changes }));
    const tenants = { transaction: (_caller: unknown, work: (tx: object) => unknown) => work({}) };
    const listing = {
      pages: () => ({ next: () => (failure ? Promise.reject(failure) : Promise.resolve({ done: true })) }),
    };
    const clients = { open: () => ({ adapter: { companies: listing }, access: {}, http: {} }) };
    service = new PsaConnectionTestService(
      tenants as unknown as TenantDatabase,
      { get: () => Promise.resolve(connection), recordTest, change } as unknown as PsaConnectionsRepository,
      clients as unknown as PsaClientsService,
      { record: audit } as unknown as AuditTrail,
    );
  });

  /** The result and text of the audit entry. */
  const audited = () => (audit.mock.calls[0] as unknown[]).slice(2);

  it('reports success and records it', async () => {
    expect(await service.test(CALLER, 'c-1')).toEqual({ success: true, message: 'The PSA accepted the credentials' });
    expect(recordTest).toHaveBeenCalledWith({}, 'c-1', undefined);
    expect(audited()).toMatchObject(['psa.connection.test', { id: 'c-1' }, { provider: 'zendesk' }, 'success']);
  });

  it.each<[string, Error, string]>([
    [
      'refused credentials',
      new PsaCredentialsRejected('The PSA refused the credentials'),
      'The PSA refused the credentials',
    ],
    ['a redirect', new PsaRequestRefused('The PSA redirected the request'), 'The PSA redirected the request'],
    ['a failing PSA', new PsaFailed('The PSA responded with status 500'), 'The PSA responded with status 500'],
    ['a missing credential', new PsaCredentialsIncomplete(['apiToken']), 'The connection lacks apiToken'],
    ['spent time', new ListingTimeSpent(), 'The PSA did not respond in time'],
  ])('reports %s as a failed test', async (_what, error, text) => {
    failure = error;
    expect(await service.test(CALLER, 'c-1')).toEqual({ success: false, error: text });
    expect(audited()).toMatchObject(['psa.connection.test', {}, {}, 'failure', text]);
  });

  it('passes errors of our own on and records no test', async () => {
    failure = new TypeError('broken');
    await expect(service.test(CALLER, 'c-1')).rejects.toBe(failure);
    expect(recordTest).not.toHaveBeenCalled();
  });

  it('sends nothing for a caller who may not change the connection', async () => {
    failure = new Error('sent');
    await expect(service.test(RESTRICTED, 'c-1')).rejects.toBeInstanceOf(FullPartnerAccessRequired);
    expect(audit).not.toHaveBeenCalled();
  });

  const rejected = new PsaCredentialsRejected('no');
  const failed = new PsaFailed('down');
  it.each<[PsaConnectionStatus, string, Error | null, PsaConnectionStatus | undefined]>([
    ['active', 'accepted', null, undefined],
    ['active', 'refused', rejected, 'error'],
    ['active', 'failed', failed, undefined],
    ['error', 'accepted', null, 'active'],
    ['error', 'refused', rejected, undefined],
    ['error', 'failed', failed, undefined],
    ['paused', 'accepted', null, undefined],
    ['paused', 'refused', rejected, undefined],
  ])(
    'changes the status from %s after access was %s as a test and as a listing do',
    async (status, _what, error, to) => {
      connection.status = status;
      failure = error;
      await service.test(CALLER, 'c-1');
      expect(recordTest).toHaveBeenCalledWith({}, 'c-1', to);
      audit.mockClear();
      await service.recordAccess(CALLER, connection, error);
      if (to === undefined) return expect(change).not.toHaveBeenCalled();
      expect(change).toHaveBeenCalledWith({}, 'c-1', { status: to });
      expect(audited()).toMatchObject(['psa.connection.status.update', { id: 'c-1' }, { from: status, to }]);
    },
  );
});
