export { type AccessModuleOptions } from './access.config.js';
export * from './access.errors.js';
export { AccessModule } from './access.module.js';
export * from './access.tokens.js';
export { AgentRecords } from './agents/agent-records.service.js';
export { DenialAuditService } from './audit/denial-audit.service.js';
export { type AccessRequest, clientAddress } from './callers/access-request.js';
export * from './callers/caller.js';
export * from './callers/current-caller.decorator.js';
export * from './callers/organization-access.policy.js';
export * from './callers/scope-grant.policy.js';
export * from './callers/site-restriction.policy.js';
export { type DirectoryOrganization, isLive } from './directory/directory-organization.js';
export {
  dropOrganizationDirectoryTable,
  organizationDirectoryTable,
} from './directory/organization-directory-table.js';
export { OrganizationDirectory } from './directory/organization-directory.service.js';
export { HeartbeatPublisher, type HeartbeatTopic } from './invalidation/heartbeat-publisher.service.js';
export { InvalidationFeeds } from './invalidation/invalidation-feeds.service.js';
export { ApiKeyAuthenticator } from './keys/api-key.authenticator.js';
export { KeyWindow, type KeyWindowResult } from './keys/key-window.service.js';
export { RouteAccessMissing } from './route-access/route-access-check.service.js';
export * from './route-access/route-access.decorator.js';
export { AccessEntry } from './snapshots/access-entry.js';
export { AccessSnapshots } from './snapshots/access-snapshots.service.js';
export type { AccessTokenClaims } from './tokens/access-token.js';
export { UserAuthenticator } from './users/user.authenticator.js';
