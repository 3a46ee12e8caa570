import { Injectable } from '@nestjs/common';
import type { OrganizationListener } from '@rmm/access';
import { type CredentialChanged, type OrganizationState } from '@rmm/contracts';
import { Outbox, type OutboxTransaction } from '@rmm/messaging';

/**
 * The state of a tenant is part of every key record: once it is known here that it changed, every key cache is told,
 * so that the keys of a suspended tenant end everywhere at once.
 */
@Injectable()
export class TenantChanges implements OrganizationListener {
  constructor(private readonly outbox: Outbox) {}

  organizationChanged(tx: OutboxTransaction, { orgId, partnerId }: OrganizationState): Promise<void> {
    return this.announce(tx, { partnerId, orgId }, { orgIds: [orgId] });
  }

  partnerChanged(tx: OutboxTransaction, partnerId: string): Promise<void> {
    return this.announce(tx, { partnerId, orgId: null }, { partnerIds: [partnerId] });
  }

  private announce(
    tx: OutboxTransaction,
    tenant: { partnerId: string; orgId: string | null },
    touched: Pick<CredentialChanged, 'partnerIds' | 'orgIds'>,
  ): Promise<void> {
    const data: CredentialChanged = {
      kind: 'api_key',
      keyIds: [],
      keyHashes: [],
      ...touched,
      reason: 'tenant_changed',
    };
    const aggregateId = tenant.orgId ?? tenant.partnerId;
    return this.outbox.publish(tx, { stream: 'broadcast', type: 'credential.changed', aggregateId, ...tenant, data });
  }
}
