import { Injectable } from '@nestjs/common';
import type { ErasedOrganization, OrganizationEraser } from '@rmm/access';
import type { ErasedCounts } from '@rmm/contracts';
import { Outbox } from '@rmm/messaging';
import type { WorkerTransaction } from '@rmm/persistence';
import { webhookChanged } from '../webhooks/webhook.mapper.js';

interface ErasedWebhook {
  id: string;
  /** False for a webhook that was deleted before, whose history is still stored. */
  live: boolean;
}

const NEXT_WEBHOOK = `
  SELECT id, true AS live FROM webhook WHERE org_id = :orgId AND partner_id = :partnerId
   UNION ALL
  SELECT webhook_id, false FROM deleted_webhook WHERE org_id = :orgId AND partner_id = :partnerId
   LIMIT 1`;

const ERASE_DELIVERIES = `
  WITH picked AS MATERIALIZED (
    SELECT id, created_at, event_id, org_id FROM delivery WHERE webhook_id = :id ORDER BY created_at, id LIMIT :limit
  ), attempts AS (
    DELETE FROM attempt a USING picked p WHERE a.delivery_id = p.id AND a.created_at = p.created_at
  ), bodies AS (
    DELETE FROM event_body b USING picked p
     WHERE b.event_id = p.event_id AND b.org_id = p.org_id AND b.created_at = p.created_at
  )
  DELETE FROM delivery d USING picked p WHERE d.id = p.id AND d.created_at = p.created_at RETURNING 1 AS one`;

/** The webhooks remain, and so do their counts. */
const ERASE_EVENT_DELIVERIES = `
  WITH picked AS MATERIALIZED (
    SELECT id, created_at, event_id, partner_id FROM delivery WHERE event_org_id = :orgId LIMIT :limit
  ), attempts AS (
    DELETE FROM attempt a USING picked p WHERE a.delivery_id = p.id AND a.created_at = p.created_at
  ), letters AS (
    DELETE FROM dead_letter l USING picked p WHERE l.delivery_id = p.id
  ), bodies AS (
    DELETE FROM event_body b USING picked p
     WHERE b.event_id = p.event_id AND b.org_id = p.partner_id AND b.created_at = p.created_at
  )
  DELETE FROM delivery d USING picked p WHERE d.id = p.id AND d.created_at = p.created_at RETURNING 1 AS one`;

const ERASE_DEAD_LETTERS = `
  WITH picked AS MATERIALIZED (
    SELECT delivery_id, failed_at FROM dead_letter WHERE webhook_id = :id ORDER BY failed_at LIMIT :limit
  )
  DELETE FROM dead_letter l USING picked p WHERE l.delivery_id = p.delivery_id AND l.failed_at = p.failed_at
  RETURNING 1 AS one`;

/**
 * Erases the webhooks of an organization, each after its history. Uses the worker login: there is no caller. The
 * organization has been deleted for long, so that nothing new is stored meanwhile.
 */
@Injectable()
export class OrganizationEraserRepository implements OrganizationEraser {
  constructor(private readonly outbox: Outbox) {}

  async eraseBatch(
    tx: WorkerTransaction,
    organization: ErasedOrganization,
    limit: number,
  ): Promise<ErasedCounts | null> {
    const { orgId, partnerId } = organization;
    const [webhook] = await tx.query<ErasedWebhook>(NEXT_WEBHOOK, { orgId, partnerId });
    if (!webhook) return this.eraseOfPartnerWebhooks(tx, orgId, limit);
    const { id } = webhook;
    const letters = await tx.query(ERASE_DEAD_LETTERS, { id, limit });
    if (letters.length > 0) return { dead_letter: letters.length };
    const deliveries = await tx.query(ERASE_DELIVERIES, { id, limit });
    if (deliveries.length > 0) return { delivery: deliveries.length };
    await this.eraseWebhook(tx, organization, webhook);
    return { webhook: 1 };
  }

  /** Erases the deliveries of the organization's events to webhooks of its partner. */
  private async eraseOfPartnerWebhooks(
    tx: WorkerTransaction,
    orgId: string,
    limit: number,
  ): Promise<ErasedCounts | null> {
    const deliveries = await tx.query(ERASE_EVENT_DELIVERIES, { orgId, limit });
    return deliveries.length > 0 ? { delivery: deliveries.length } : null;
  }

  private async eraseWebhook(tx: WorkerTransaction, organization: ErasedOrganization, webhook: ErasedWebhook) {
    const { id } = webhook;
    await tx.query('DELETE FROM request_shape WHERE webhook_id = :id', { id });
    await tx.query('DELETE FROM webhook_recovery WHERE webhook_id = :id', { id });
    if (!webhook.live) {
      await tx.query('DELETE FROM deleted_webhook WHERE webhook_id = :id', { id });
      return;
    }
    await tx.query('DELETE FROM webhook_counter WHERE webhook_id = :id', { id });
    await tx.query('DELETE FROM webhook WHERE id = :id', { id });
    await this.outbox.publish(tx, webhookChanged({ id, ...organization }, true));
  }
}
