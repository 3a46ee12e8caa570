import { Injectable } from '@nestjs/common';
import type { OrganizationListener } from '@rmm/access';
import { CREDENTIAL_CHANGED, type CredentialChanged, type OrganizationState } from '@rmm/contracts';
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
    const data = { kind: 'api_key', keyIds: [], keyHashes: [], ...touched, reason: 'tenant_changed' } as const;
    const aggregateId = tenant.orgId ?? tenant.partnerId;
    return this.outbox.add(tx, { stream: 'broadcast', type: CREDENTIAL_CHANGED, aggregateId, ...tenant, data });
  }
}
