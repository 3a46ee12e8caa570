import type { AccessSnapshots } from '@rmm/access';
import type { AccessChanged } from '@rmm/contracts';
import type { Outbox, OutboxTransaction } from '@rmm/messaging';
import { AccessChangesService } from './access-changes.service.js';

describe('AccessChangesService', () => {
  it('publishes a change in the transaction and invalidates the local cache after its commit', async () => {
    const published: object[] = [];
    const invalidated: AccessChanged[] = [];
    const callbacks: (() => void)[] = [];
    const outbox = { publish: async (_: unknown, messages: object[]) => void published.push(...messages) };
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

  it('names the tenant and splits a change with more ids than a message can have', async () => {
    const published: { data: AccessChanged; partnerId: string | null }[] = [];
    const outbox = { publish: async (_: unknown, messages: never[]) => void published.push(...messages) };
    const snapshots = { invalidate: () => undefined };
    const tx = { afterCommit: () => undefined } as unknown as OutboxTransaction;
    const service = new AccessChangesService(outbox as unknown as Outbox, snapshots as unknown as AccessSnapshots);

    const roleIds = Array.from({ length: 2_500 }, (_, n) => `r${n}`);
    await service.publish(tx, { roleIds, partnerId: 'p1', reason: 'role_changed' });
    expect(published.map(({ data }) => data.roleIds?.length)).toEqual([1_000, 1_000, 500]);
    expect(published.flatMap(({ data }) => data.roleIds)).toEqual(roleIds);
    for (const message of published) {
      expect(message).toMatchObject({ partnerId: 'p1', data: { partnerId: 'p1', reason: 'role_changed' } });
    }
  });
});
