import { Injectable } from '@nestjs/common';
import type { ChangedTenants, TenantListener } from '@rmm/access';
import type { CredentialChanged } from '@rmm/contracts';
import { Broadcasts, Outbox, type OutboxTransaction } from '@rmm/messaging';

/**
 * Publishes that the state of tenants changed, on which every key cache drops their records: the keys of a suspended
 * tenant stop working everywhere at once.
 */
@Injectable()
export class TenantChangesService implements TenantListener {
  constructor(
    private readonly outbox: Outbox,
    private readonly broadcasts: Broadcasts,
  ) {}

  tenantsStored(tx: OutboxTransaction, tenants: ChangedTenants): Promise<void> {
    const data = toCredentialChanged(tenants);
    const [aggregateId = 'tenants'] = [...(data.orgIds ?? []), ...(data.partnerIds ?? [])];
    const address = { aggregateId, partnerId: null, orgId: null };
    return this.outbox.publish(tx, { stream: 'broadcast', type: 'credential.changed', ...address, data });
  }

  /**
   * Repeats the broadcast of the owner, from each replica: a key that this replica resolved with the earlier state of
   * its tenant was sent before this message, so that no cache keeps it.
   */
  tenantsOutdated(tenants: ChangedTenants): void {
    this.broadcasts.publishNow('credential.changed', toCredentialChanged(tenants));
  }
}

const toCredentialChanged = ({ partnerIds = [], orgIds = [] }: ChangedTenants): CredentialChanged => ({
  kind: 'api_key',
  keyIds: [],
  keyHashes: [],
  partnerIds: [...partnerIds],
  orgIds: [...orgIds],
  reason: 'tenant_changed',
});
