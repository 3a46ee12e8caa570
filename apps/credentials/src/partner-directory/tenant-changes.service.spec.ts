import type { OrganizationState } from '@rmm/contracts';
import type { Outbox, OutboxTransaction } from '@rmm/messaging';
import { TenantChangesService } from './tenant-changes.service.js';

describe('TenantChangesService', () => {
  const publish = jest.fn(() => Promise.resolve());
  const service = new TenantChangesService({ publish } as unknown as Outbox);
  const tx = {} as OutboxTransaction;

  it('publishes the changed organization', async () => {
    await service.organizationChanged(tx, { orgId: 'o', partnerId: 'p' } as OrganizationState);
    const data = expect.objectContaining({ orgIds: ['o'], reason: 'tenant_changed' }) as object;
    expect(publish).toHaveBeenLastCalledWith(tx, expect.objectContaining({ aggregateId: 'o', orgId: 'o', data }));
  });

  it('publishes the changed partner', async () => {
    await service.partnerChanged(tx, 'p');
    const data = expect.objectContaining({ partnerIds: ['p'], reason: 'tenant_changed' }) as object;
    expect(publish).toHaveBeenLastCalledWith(tx, expect.objectContaining({ aggregateId: 'p', orgId: null, data }));
  });
});
