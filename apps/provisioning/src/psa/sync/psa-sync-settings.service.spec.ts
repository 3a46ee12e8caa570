import type { UserCaller } from '@rmm/access';
import type { AuditTrail } from '@rmm/messaging';
import type { TenantDatabase } from '@rmm/persistence';
import { FixedClock } from '@rmm/testing-services';
import type { PsaConnectionsRepository } from '../psa-connections.repository.js';
import { PsaListingUnsupported } from '../psa.errors.js';
import { PsaSyncSettingsService } from './psa-sync-settings.service.js';
import type { PsaSync } from './psa-sync.entity.js';
import { PsaSyncDisabled } from './psa-sync.errors.js';
import type { PsaSyncsRepository } from './psa-syncs.repository.js';

const CALLER = { userId: 'u-1' } as UserCaller;
const NOW = '2026-03-01T00:00:00.000Z';

describe('PsaSyncSettingsService', () => {
  const save = jest.fn();
  const scheduleNow = jest.fn();
  const audit = jest.fn();
  let provider: string;
  let stored: Partial<PsaSync> | null;
  let settings: PsaSyncSettingsService;

  beforeEach(() => {
    jest.resetAllMocks();
    provider = 'zendesk';
    stored = null;
    const row = () => Promise.resolve({ id: 'c-1', name: 'PSA', partnerId: 'p-1', orgId: null, provider });
    save.mockImplementation((_tx, given: object) => Promise.resolve({ ...stored, ...given }));
    settings = new PsaSyncSettingsService(
      { transaction: (_caller: unknown, work: (tx: object) => unknown) => work({}) } as unknown as TenantDatabase,
      { get: row, lock: row } as unknown as PsaConnectionsRepository,
      { find: () => Promise.resolve(stored), save, scheduleNow } as unknown as PsaSyncsRepository,
      { record: audit } as unknown as AuditTrail,
      new FixedClock(NOW),
    );
  });

  it('shows defaults for a connection that was never configured', async () => {
    expect(await settings.get(CALLER, 'c-1')).toEqual({
      enabled: false,
      rule: 'propose',
      intervalMinutes: 1_440,
      running: false,
      nextRunAt: null,
      lastRunAt: null,
      lastResult: null,
      failures: 0,
      disabledReason: null,
    });
  });

  it.each([
    ['2026-03-01T00:00:01Z', true],
    ['2026-02-28T23:59:59Z', false],
  ])('shows a run with a lease until %s as running: %s', async (until, running) => {
    stored = { leasedUntil: new Date(until) };
    expect((await settings.get(CALLER, 'c-1')).running).toBe(running);
  });

  it('keeps what the request leaves out, and audits the result', async () => {
    stored = { rule: 'import', intervalMinutes: 60 };
    await settings.update(CALLER, 'c-1', { enabled: false });
    const kept = { enabled: false, rule: 'import', intervalMinutes: 60 };
    const owner = { connectionId: 'c-1', partnerId: 'p-1', configuredBy: 'u-1' };
    expect(save).toHaveBeenCalledWith({}, { ...kept, ...owner });
    expect(audit.mock.calls[0]?.slice(2)).toEqual(['psa.sync.update', expect.objectContaining({ id: 'c-1' }), kept]);
  });

  it('refuses a provider without companies', async () => {
    provider = 'jira';
    await expect(settings.update(CALLER, 'c-1', { enabled: true })).rejects.toBeInstanceOf(PsaListingUnsupported);
    expect(save).not.toHaveBeenCalled();
  });

  it('runs an enabled sync only', async () => {
    scheduleNow.mockResolvedValueOnce(null);
    await expect(settings.runNow(CALLER, 'c-1')).rejects.toBeInstanceOf(PsaSyncDisabled);
    scheduleNow.mockResolvedValueOnce({ nextRunAt: new Date(NOW), enabled: true });
    expect((await settings.runNow(CALLER, 'c-1')).nextRunAt).toBe(NOW);
  });
});
