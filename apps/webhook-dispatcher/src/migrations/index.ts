import { InitialSchema1767225600000 } from './1767225600000-InitialSchema.js';
import { AddWebhookDescription1769904000000 } from './1769904000000-AddWebhookDescription.js';
import { AllowResealing1772323200000 } from './1772323200000-AllowResealing.js';
import { AddDeletedWebhookChange1795436400000 } from './1795436400000-AddDeletedWebhookChange.js';
import { AddPartnerWebhooks1795438000000 } from './1795438000000-AddPartnerWebhooks.js';
import { IndexPartnerWebhooks1795438060000 } from './1795438060000-IndexPartnerWebhooks.js';
import { AddWebhookPause1795438120000 } from './1795438120000-AddWebhookPause.js';
import { KeepOpenDeliveries1795438180000 } from './1795438180000-KeepOpenDeliveries.js';
import { IndexDeliveriesByEventType1795438300000 } from './1795438300000-IndexDeliveriesByEventType.js';
import { IndexWaitingWebhooks1796025600000 } from './1796025600000-IndexWaitingWebhooks.js';

/** Oldest first; listed as classes, since a build keeps the output of a deleted file. */
export const MIGRATIONS = [
  InitialSchema1767225600000,
  AddWebhookDescription1769904000000,
  AllowResealing1772323200000,
  AddDeletedWebhookChange1795436400000,
  AddPartnerWebhooks1795438000000,
  IndexPartnerWebhooks1795438060000,
  AddWebhookPause1795438120000,
  KeepOpenDeliveries1795438180000,
  IndexDeliveriesByEventType1795438300000,
  IndexWaitingWebhooks1796025600000,
];
