import { Injectable } from '@nestjs/common';
import { AccessSnapshots } from '@rmm/access';
import { type AccessChanged } from '@rmm/contracts';
import { Outbox, type OutboxTransaction } from '@rmm/messaging';

/** Publishes changes of users' access, upon which every replica of every service discards what it has cached. */
@Injectable()
export class AccessChangesService {
  constructor(
    private readonly outbox: Outbox,
    private readonly snapshots: AccessSnapshots,
  ) {}

  /** Publishes in the transaction of the change. This replica's cache is invalidated with the commit. */
  async publish(tx: OutboxTransaction, change: AccessChanged): Promise<void> {
    const { userIds = [], roleIds = [], orgIds = [], partnerIds = [] } = change;
    const [aggregateId = 'access'] = [...userIds, ...roleIds, ...orgIds, ...partnerIds];
    const address = { aggregateId, partnerId: null, orgId: null };
    await this.outbox.publish(tx, { stream: 'broadcast', type: 'access.changed', ...address, data: change });
    tx.afterCommit(() => this.snapshots.invalidate(change));
  }
}
