import type { OutgoingMessage } from '@rmm/messaging';

/** Broadcast between the replicas of this service: an index may be older than the table. */
export interface WebhookChanged {
  webhookId: string;
  isDeleted: boolean;
}

export const WEBHOOK_CHANGED = 'webhook.changed';

export const webhookChanged = (
  webhook: { id: string; partnerId: string; orgId: string },
  isDeleted = false,
): OutgoingMessage => ({
  stream: 'broadcast',
  type: WEBHOOK_CHANGED,
  aggregateId: webhook.id,
  partnerId: webhook.partnerId,
  orgId: webhook.orgId,
  data: { webhookId: webhook.id, isDeleted } satisfies WebhookChanged,
});
