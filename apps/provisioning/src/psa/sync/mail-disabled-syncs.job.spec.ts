import type { RpcClient } from '@rmm/messaging';
import { type Logger, UnavailableError } from '@rmm/service-kit';
import { MailDisabledSyncsJob } from './mail-disabled-syncs.job.js';
import type { DisabledSync, PsaSyncsRepository } from './psa-syncs.repository.js';

const buildSync = (connectionId: string): DisabledSync => ({
  ...{ connectionId, partnerId: 'p-1', name: 'Main PSA', provider: 'zendesk' },
  lastRunAt: new Date('2026-02-03T04:05:06.000Z'),
});

describe('MailDisabledSyncsJob', () => {
  const syncs = { listUnmailed: jest.fn(), markMailed: jest.fn() };
  const call = jest.fn();
  const warn = jest.fn();
  const job = new MailDisabledSyncsJob(
    syncs as unknown as PsaSyncsRepository,
    { call } as unknown as RpcClient,
    { warn } as unknown as Logger,
  );
  beforeEach(() => {
    jest.resetAllMocks();
    syncs.listUnmailed.mockResolvedValue([buildSync('c-1'), buildSync('c-2')]);
  });

  it('mails the administrators of the partner, without a message of the PSA', async () => {
    await job.run();
    expect(call.mock.calls[0]?.[1]).toEqual({
      idempotencyKey: 'psa-sync-disabled:c-1:2026-02-03T04:05:06.000Z',
      to: [],
      audience: { partnerId: 'p-1', orgId: null, permission: 'organizations:write' },
      template: 'psa-sync-disabled',
      values: { connectionName: 'Main PSA', provider: 'zendesk' },
    });
    expect(syncs.markMailed.mock.calls).toEqual([[buildSync('c-1')], [buildSync('c-2')]]);
  });

  it('sends a mail again that identity did not accept, and the others now', async () => {
    call.mockRejectedValueOnce(new UnavailableError());
    await job.run();
    expect(call).toHaveBeenCalledTimes(2);
    expect(syncs.markMailed.mock.calls).toEqual([[buildSync('c-2')]]);
    expect(warn).toHaveBeenCalledTimes(1);
  });
});
