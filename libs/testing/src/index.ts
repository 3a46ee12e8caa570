export * from './api-client.js';
export * from './fleet-handle.js';
export * from './mailbox-client.js';
export * from './users.js';
export * from './totp.js';
export * from './webhook-receiver.js';
export { eventually } from '@rmm/testing-services';
