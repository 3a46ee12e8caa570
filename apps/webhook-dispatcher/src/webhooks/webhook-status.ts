export const WEBHOOK_STATUSES = ['active', 'paused', 'failed'] as const;
/** As the API says it. */
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];
/** As the table says it. @see SPEC.md 2.8 */
export type StoredWebhookStatus = 'active' | 'disabled' | 'error';

const STORED: Readonly<Record<WebhookStatus, StoredWebhookStatus>> = {
  active: 'active',
  paused: 'disabled',
  failed: 'error',
};
const SHOWN: Readonly<Record<StoredWebhookStatus, WebhookStatus>> = {
  active: 'active',
  disabled: 'paused',
  error: 'failed',
};

export const toStoredStatus = (status: WebhookStatus): StoredWebhookStatus => STORED[status];
export const toWebhookStatus = (stored: StoredWebhookStatus): WebhookStatus => SHOWN[stored];
