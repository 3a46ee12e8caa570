import { Injectable } from '@nestjs/common';
import { AccessSnapshots } from '@rmm/access';
import { type AccessChanged } from '@rmm/contracts';
import { Outbox, type OutboxTransaction } from '@rmm/messaging';

/** Announces changes of people's access: every replica of every service forgets what it knew of them. */
@Injectable()
export class AccessChanges {
  constructor(
    private readonly outbox: Outbox,
    private readonly snapshots: AccessSnapshots,
  ) {}

  /** In the transaction of the change. This replica forgets with the commit, the others a moment later. */
  async announce(tx: OutboxTransaction, change: AccessChanged): Promise<void> {
    const { userIds = [], roleIds = [], orgIds = [], partnerIds = [] } = change;
    const [aggregateId = 'access'] = [...userIds, ...roleIds, ...orgIds, ...partnerIds];
    const address = { aggregateId, partnerId: null, orgId: null };
    await this.outbox.publish(tx, { stream: 'broadcast', type: 'access.changed', ...address, data: change });
    tx.afterCommit(() => this.snapshots.invalidate(change));
  }
}
