export { ApiError, ConnectionError } from './api-error.js';
export type { DeprecationNotice } from './deprecation.js';
export { FleetClient, type ApiResponse, type ClientOptions, type Credentials } from './fleet-client.js';
export type { ApiPath, Method, RequestOptions, ResponseBody } from './operations.js';
export type { PartnerRecord, PartnerExport, PartnerExportPath } from './partner-export.js';
export type { ListPath, ListRecord } from './lists.js';
export {
  InvalidWebhookSignature,
  isValidSignature,
  verifyWebhook,
  type EventData,
  type EventType,
  type SignedRequest,
  type WebhookEvent,
} from './webhooks.js';
export type { components, operations, paths } from './generated/api.js';
