import { Injectable } from '@nestjs/common';
import type { AuditAction, CredentialChanged } from '@rmm/contracts';
import { AuditTrail, Outbox, type AuditedCaller, type OutboxTransaction } from '@rmm/messaging';
import type { ApiKey } from './api-key.entity.js';

/** A key as it stands, with what caches know it by. */
export type HashedApiKey = ApiKey & { keyHash: Buffer; previousKeyHash: Buffer | null };
type Announced = Pick<HashedApiKey, 'id' | 'partnerId' | 'orgId' | 'keyHash' | 'previousKeyHash'>;

/** Tells of changes of API keys: an audit row, and a broadcast on which every key cache drops the record. */
@Injectable()
export class ApiKeyChanges {
  constructor(
    private readonly trail: AuditTrail,
    private readonly outbox: Outbox,
  ) {}

  audit(
    tx: OutboxTransaction,
    caller: AuditedCaller,
    action: AuditAction,
    { id, name, orgId, partnerId }: Pick<ApiKey, 'id' | 'name' | 'orgId' | 'partnerId'>,
    details: Record<string, unknown>,
  ): Promise<void> {
    return this.trail.record(tx, caller, action, { type: 'api_key', id, name, orgId, partnerId }, details);
  }

  /** In the transaction of the change; nothing for no keys. */
  announce(tx: OutboxTransaction, keys: readonly Announced[], reason: CredentialChanged['reason']): Promise<void> {
    return this.outbox.publish(
      tx,
      keys.map(({ id, partnerId, orgId, keyHash, previousKeyHash }) => ({
        stream: 'broadcast',
        type: 'credential.changed',
        aggregateId: id,
        partnerId,
        orgId,
        data: {
          kind: 'api_key',
          keyIds: [id],
          keyHashes: [keyHash, previousKeyHash].flatMap((hash) => (hash ? [hash.toString('hex')] : [])),
          reason,
        } satisfies CredentialChanged,
      })),
    );
  }
}
