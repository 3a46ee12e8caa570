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
export { OrganizationDirectory } from './directory/organization-directory.service.js';
export type { DirectoryPartner } from './directory/directory-partner.js';
export { PartnerDirectory } from './directory/partner-directory.service.js';
export { HeartbeatPublisher, type HeartbeatTopic } from './invalidation/heartbeat-publisher.service.js';
export { InvalidationFeeds } from './invalidation/invalidation-feeds.service.js';
export { ApiKeyAuthenticator } from './keys/api-key.authenticator.js';
export { KeyWindow, type KeyWindowResult, WINDOW_SECONDS } from './keys/key-window.service.js';
export { type PartnerKeyWindow, partnerReadWindow, partnerWriteWindow } from './keys/partner-key-windows.js';
export { RouteAccessMissing } from './route-access/route-access.errors.js';
export * from './route-access/route-access.decorator.js';
export { AccessEntry } from './snapshots/access-entry.js';
export { AccessSnapshots } from './snapshots/access-snapshots.service.js';
export type { AccessTokenClaims } from './tokens/access-token.js';
export { UserAuthenticator } from './users/user.authenticator.js';
export { forwardedIdempotency, runForwarded } from './idempotency/forwarded-idempotency.js';
export { Idempotent, IdempotentAtOwner } from './idempotency/idempotent.decorator.js';
export {
  type Acting,
  actingOf,
  restrictedKeyCaller,
  tenantOf,
  toActingCaller,
  toRestrictedKey,
} from './callers/acting-caller.mapper.js';
export {
  type ErasedOrganization,
  ORGANIZATION_ERASER,
  type OrganizationEraser,
} from './erasure/organization-eraser.js';
export { EraseOrganizationDataJob } from './erasure/erase-organization-data.job.js';
export { OrganizationErasureModule } from './erasure/organization-erasure.module.js';
export { OrganizationErasuresRepository } from './erasure/organization-erasures.repository.js';
export { EXPORT_READ_LIMIT, toExportPage } from './organization-export/export-page.js';
