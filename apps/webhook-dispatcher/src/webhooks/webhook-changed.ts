import type { OutgoingMessage } from '@rmm/messaging';

/** Returns the broadcast that has the replicas reload a webhook. */
export const webhookChanged = (
  webhook: { id: string; partnerId: string; orgId: string },
  isDeleted = false,
): OutgoingMessage => ({
  stream: 'broadcast',
  type: 'webhook.changed',
  aggregateId: webhook.id,
  partnerId: webhook.partnerId,
  orgId: webhook.orgId,
  data: { webhookId: webhook.id, isDeleted },
});
