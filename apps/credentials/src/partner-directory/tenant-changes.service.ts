import { Injectable } from '@nestjs/common';
import type { OrganizationListener } from '@rmm/access';
import type { CredentialChanged, OrganizationState } from '@rmm/contracts';
import { Outbox, type OutboxTransaction } from '@rmm/messaging';

/**
 * Publishes that the state of a tenant changed, on which every key cache drops the tenant's records: the keys of a
 * suspended tenant stop working everywhere at once.
 */
@Injectable()
export class TenantChangesService implements OrganizationListener {
  constructor(private readonly outbox: Outbox) {}

  organizationChanged(tx: OutboxTransaction, { orgId, partnerId }: OrganizationState): Promise<void> {
    return this.publish(tx, { partnerId, orgId }, { orgIds: [orgId] });
  }

  partnerChanged(tx: OutboxTransaction, partnerId: string): Promise<void> {
    return this.publish(tx, { partnerId, orgId: null }, { partnerIds: [partnerId] });
  }

  private publish(
    tx: OutboxTransaction,
    tenant: { partnerId: string; orgId: string | null },
    changed: Pick<CredentialChanged, 'partnerIds' | 'orgIds'>,
  ): Promise<void> {
    const data: CredentialChanged = {
      kind: 'api_key',
      keyIds: [],
      keyHashes: [],
      ...changed,
      reason: 'tenant_changed',
    };
    const aggregateId = tenant.orgId ?? tenant.partnerId;
    return this.outbox.publish(tx, { stream: 'broadcast', type: 'credential.changed', aggregateId, ...tenant, data });
  }
}
