export { dropMessagingTables, messagingTables } from '../migrations/messaging-tables.js';
