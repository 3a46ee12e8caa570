import { Injectable } from '@nestjs/common';
import { IDENTITY_ACCESS_IN_ORGANIZATION, IDENTITY_MAIL_SEND } from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { Job } from '@rmm/service-kit';

const BATCH = 200;
/** Days before the end; the nearer one first, so that a key met late is not reminded of twice. */
const REMIND_DAYS = [3, 14] as const;

interface DueKey {
  id: string;
  partnerId: string;
  orgId: string;
  name: string;
  keyPrefix: string;
  createdBy: string;
  expiresAt: Date;
  /** Which of the two reminders it is. */
  days: number;
}

/** A key made so late that a reminder would come with it gets none for that day. */
const DUE = `
  SELECT k.id, k.partner_id AS "partnerId", k.org_id AS "orgId", k.name, k.key_prefix AS "keyPrefix",
    k.created_by AS "createdBy", k.expires_at AS "expiresAt", due.days
  FROM api_key k
  CROSS JOIN LATERAL (
    SELECT days FROM unnest($1::integer[]) AS stage(days)
    WHERE now() >= k.expires_at - make_interval(days => days) AND k.created_at < k.expires_at - make_interval(days => days)
    ORDER BY days LIMIT 1
  ) due
  WHERE k.status = 'active' AND k.expires_at BETWEEN now() AND now() + interval '14 days'
    AND k.expiry_reminders AND k.created_by IS NOT NULL
    AND (k.reminded_at IS NULL OR k.reminded_at < k.expires_at - make_interval(days => due.days))
  ORDER BY k.expires_at LIMIT ${BATCH}`;

/** Mails the creators of keys that end soon. Replicas may look side by side: identity takes a mail once. */
@Injectable()
export class ExpiryReminders {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly rpc: RpcClient,
  ) {}

  /** @returns how many keys were seen to */
  @Job({ name: 'send-api-key-expiry-reminders', everyMs: 600_000 })
  async run(): Promise<number> {
    const due = await this.worker.query<DueKey>(DUE, [REMIND_DAYS]);
    for (const key of due) {
      await this.remind(key);
      await this.worker.query('UPDATE api_key SET reminded_at = now() WHERE id = $1', [key.id]);
    }
    return due.length;
  }

  /** Nobody is told of a key whose creator is gone: it is dead already. */
  private async remind({ id, partnerId, orgId, name, keyPrefix, createdBy, expiresAt, days }: DueKey): Promise<void> {
    const creator = await this.rpc.call(IDENTITY_ACCESS_IN_ORGANIZATION, { userId: createdBy, partnerId, orgId });
    if (!creator?.active || creator.grants.length === 0) return;
    await this.rpc.call(IDENTITY_MAIL_SEND, {
      idempotencyKey: `api-key-expiring:${id}:${days}:${expiresAt.toISOString()}`,
      to: [creator.email],
      template: 'api-key-expiring',
      values: {
        name: creator.name,
        keyName: name,
        keyPrefix,
        expiresAt: `${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`,
      },
    });
  }
}
