import { Injectable } from '@nestjs/common';
import { AccessSnapshots } from '@rmm/access';
import { type AccessChanged } from '@rmm/contracts';
import { Outbox, type OutboxTransaction, type OutgoingMessage } from '@rmm/messaging';

const LISTS = ['userIds', 'roleIds', 'partnerIds', 'orgIds'] as const;
/** Ids per message: a message has at most 256 KB. */
const MAX_IDS = 1_000;

/** Publishes changes of users' access, upon which every replica of every service discards what it has cached. */
@Injectable()
export class AccessChangesService {
  constructor(
    private readonly outbox: Outbox,
    private readonly snapshots: AccessSnapshots,
  ) {}

  /** Publishes in the transaction of the change. This replica's cache is invalidated with the commit. */
  async publish(tx: OutboxTransaction, change: AccessChanged): Promise<void> {
    await this.outbox.publish(tx, splitByIds(change).map(toMessage));
    tx.afterCommit(() => this.snapshots.invalidate(change));
  }
}

function toMessage(data: AccessChanged): OutgoingMessage {
  const { partnerIds = [], orgIds = [] } = data;
  const [aggregateId = 'access'] = LISTS.flatMap((list) => data[list] ?? []);
  const partnerId = data.partnerId ?? onlyOne(partnerIds);
  const orgId = data.orgId ?? onlyOne(orgIds);
  return { stream: 'broadcast', type: 'access.changed', aggregateId, partnerId, orgId, data };
}

const onlyOne = (ids: readonly string[]): string | null => (ids.length === 1 ? ids[0] : null);

/** Splits a change with very many ids, such as the roles below a role, into several messages. */
function splitByIds(change: AccessChanged): AccessChanged[] {
  const total = LISTS.reduce((sum, list) => sum + (change[list]?.length ?? 0), 0);
  if (total <= MAX_IDS) return [change];
  const { partnerId, orgId, reason } = change;
  return LISTS.flatMap((list) => {
    const ids = change[list] ?? [];
    const pages = Math.ceil(ids.length / MAX_IDS);
    return Array.from({ length: pages }, (_, page) => {
      const part = { [list]: ids.slice(page * MAX_IDS, (page + 1) * MAX_IDS) };
      return { ...part, ...(partnerId && { partnerId }), ...(orgId && { orgId }), reason };
    });
  });
}
