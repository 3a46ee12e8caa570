import { Injectable } from '@nestjs/common';
import { IDENTITY_ACCESS_IN_ORGANIZATION, IDENTITY_MAIL_SEND } from '@rmm/contracts';
import { AuditTrail, Outbox, RpcClient, type AuditedCaller, resourceOf } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { Logger, UnavailableError } from '@rmm/service-kit';
import { ApiKeyExpiryRepository, type ExpiringKey } from './api-key-expiry.repository.js';
import { apiKeysChanged } from './api-key.mapper.js';

const EXPIRE_BATCH = 500;
const REMIND_BATCH = 200;
/** Days before the end, the nearer one first. */
const REMINDER_DAYS = [3, 14] as const;
const SYSTEM: AuditedCaller = { actor: { type: 'system', id: null }, tenant: { partnerId: null, orgId: null } };

/** Stores that keys have expired, and reminds their creators before. */
@Injectable()
export class ApiKeyExpiryService {
  constructor(
    private readonly repository: ApiKeyExpiryRepository,
    private readonly worker: WorkerDatabase,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly rpc: RpcClient,
    private readonly logger: Logger,
  ) {}

  /** Marks all keys that have expired, and deletes previous keys whose overlap has ended. */
  async expireAll(): Promise<void> {
    while ((await this.expire(null)) === EXPIRE_BATCH);
    await this.repository.deleteEndedPreviousKeys();
  }

  /** Marks those of the given keys that have expired; of all keys for null. @returns how many were marked */
  expire(keyIds: readonly string[] | null): Promise<number> {
    return this.worker.transaction(async (tx) => {
      const keys = await this.repository.markExpired(tx, keyIds, EXPIRE_BATCH);
      const entries = keys.map((key) => {
        const { keyPrefix, expiresAt } = key;
        return this.audit.toMessage(SYSTEM, 'api_key.expire', resourceOf('api_key', key), { keyPrefix, expiresAt });
      });
      await this.outbox.publish(tx, [...entries, ...apiKeysChanged(keys, 'expired')]);
      return keys.length;
    });
  }

  /** Mails the creators of keys that expire soon. Replicas may overlap: identity sends a mail once. */
  async sendReminders(): Promise<void> {
    let after: ExpiringKey | null = null;
    do {
      const keys: ExpiringKey[] = await this.repository.findExpiring(REMINDER_DAYS, REMIND_BATCH, after);
      for (const key of keys) await this.tryReminder(key);
      after = keys.length === REMIND_BATCH ? (keys.at(-1) ?? null) : null;
    } while (after !== null);
  }

  /** A refused mail does not hold up the reminders of later keys. @throws UnavailableError when identity cannot be reached */
  private async tryReminder(key: ExpiringKey): Promise<void> {
    try {
      await this.sendReminder(key);
      await this.repository.setReminded(key.id);
    } catch (err) {
      if (err instanceof UnavailableError) throw err;
      this.logger.warn({ err, keyId: key.id }, 'Reminder of an expiring API key not sent; tried again in ten minutes');
    }
  }

  /** Skips a key whose creator lost access: it no longer works. */
  private async sendReminder({ createdBy, partnerId, orgId, ...key }: ExpiringKey): Promise<void> {
    const creator = await this.rpc.call(IDENTITY_ACCESS_IN_ORGANIZATION, { userId: createdBy, partnerId, orgId });
    if (!creator?.active || creator.grants.length === 0) return;
    const expiresAt = key.expiresAt.toISOString();
    await this.rpc.call(IDENTITY_MAIL_SEND, {
      idempotencyKey: `api-key-expiring:${key.id}:${key.days}:${expiresAt}`,
      to: [creator.email],
      template: 'api-key-expiring',
      values: {
        name: creator.name,
        keyName: key.name,
        keyPrefix: key.keyPrefix,
        expiresAt: `${expiresAt.slice(0, 16).replace('T', ' ')} UTC`,
      },
    });
  }
}
