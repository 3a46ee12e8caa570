import type { SecretOverlap } from './secret-overlap.js';
import type { WebhookHeader } from './webhook-headers.js';
import type { StoredWebhookStatus } from './webhook-status.js';

/** A row of `webhook` with its counters. */
export interface WebhookRow extends SecretOverlap {
  id: string;
  partnerId: string;
  orgId: string;
  name: string;
  urlSealed: string;
  secretSealed: string | null;
  /** Whether deliveries also carry the headers of Standard Webhooks. */
  standardWebhooks: boolean;
  /** Values sealed. */
  headers: WebhookHeader[];
  events: string[];
  status: StoredWebhookStatus;
  createdBy: string | null;
  createdAt: Date;
  updatedAt: Date;
  total: string;
  delivered: string;
  failed: string;
  retrying: string;
  lastDeliveryAt: Date | null;
  lastSuccessAt: Date | null;
}

/** What a create writes and a patch may change. */
export interface WebhookSettings extends SecretOverlap {
  name: string;
  urlSealed: string;
  secretSealed: string | null;
  standardWebhooks: boolean;
  headers: WebhookHeader[];
  events: string[];
  status: StoredWebhookStatus;
}
