import type { Broadcasts, Outbox, OutboxTransaction } from '@rmm/messaging';
import { TenantChangesService } from './tenant-changes.service.js';

describe('TenantChangesService', () => {
  const publish = jest.fn(() => Promise.resolve());
  const publishNow = jest.fn();
  const service = new TenantChangesService({ publish } as unknown as Outbox, { publishNow } as unknown as Broadcasts);
  const tx = {} as OutboxTransaction;

  it('publishes stored changes in their transaction', async () => {
    await service.tenantsStored(tx, { orgIds: ['o'] });
    const data = expect.objectContaining({ orgIds: ['o'], partnerIds: [], reason: 'tenant_changed' }) as object;
    expect(publish).toHaveBeenLastCalledWith(
      tx,
      expect.objectContaining({ stream: 'broadcast', aggregateId: 'o', data }),
    );
  });

  it('publishes broadcast changes at once', () => {
    service.tenantsOutdated({ partnerIds: ['p'] });
    const data = expect.objectContaining({ partnerIds: ['p'], orgIds: [], reason: 'tenant_changed' }) as object;
    expect(publishNow).toHaveBeenLastCalledWith('credential.changed', data);
  });
});
