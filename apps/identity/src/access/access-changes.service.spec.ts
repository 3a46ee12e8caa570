import type { AccessSnapshots } from '@rmm/access';
import type { AccessChanged } from '@rmm/contracts';
import type { Outbox, OutboxTransaction } from '@rmm/messaging';
import { AccessChangesService } from './access-changes.service.js';

describe('AccessChangesService', () => {
  it('publishes a change in the transaction and invalidates the local cache after its commit', async () => {
    const published: object[] = [];
    const invalidated: AccessChanged[] = [];
    const callbacks: (() => void)[] = [];
    const outbox = { publish: async (_: unknown, message: object) => void published.push(message) };
    const snapshots = { invalidate: (change: AccessChanged) => void invalidated.push(change) };
    const tx = { afterCommit: (callback: () => void) => void callbacks.push(callback) } as OutboxTransaction;
    const service = new AccessChangesService(outbox as unknown as Outbox, snapshots as unknown as AccessSnapshots);

    const change: AccessChanged = { userIds: ['u1'], reason: 'role_assigned' };
    await service.publish(tx, change);
    expect(published).toEqual([
      expect.objectContaining({ stream: 'broadcast', type: 'access.changed', aggregateId: 'u1', data: change }),
    ]);
    expect(invalidated).toEqual([]);
    callbacks.forEach((callback) => callback());
    expect(invalidated).toEqual([change]);
  });
});
