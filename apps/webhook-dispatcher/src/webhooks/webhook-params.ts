import { UuidParam } from '@rmm/validation';

/** The path parameters of the routes of webhooks; what is no UUID names nothing, so it is not found. */
export const WebhookId = () => UuidParam('id', 'Webhook');
export const DeliveryId = () => UuidParam('deliveryId', 'Delivery');
export const DeadLetterId = () => UuidParam('jobId', 'Dead letter');
