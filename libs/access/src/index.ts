export { RouteAccessMissing } from './access-lifecycle.js';
export * from './access.errors.js';
export { AccessModule, type AccessModuleOptions } from './access.module.js';
export * from './access.tokens.js';
export { type AccessRequest, clientAddress } from './callers/access-request.js';
export * from './callers/caller.js';
export * from './callers/current-caller.js';
export * from './callers/organization-access.js';
export * from './callers/site-restriction.js';
export { Denials } from './denials/denials.js';
export { type DirectoryOrganization, isLive } from './directory/directory-organization.js';
export {
  dropOrganizationDirectoryTable,
  organizationDirectoryTable,
} from './directory/organization-directory-table.js';
export { OrganizationDirectoryConsumer } from './directory/organization-directory.consumer.js';
export { OrganizationDirectory } from './directory/organization-directory.js';
export * from './route-access/route-access.decorator.js';
export { AccessFeeds } from './feed/access-feeds.js';
export { AccessFeed, CREDENTIAL_HEARTBEAT, CredentialFeed, HeartbeatPublisher } from './feed/heartbeat-publisher.js';
export { ApiKeyAuthenticator } from './keys/api-key.authenticator.js';
export { KeyWindow, type WindowVerdict } from './keys/key-window.js';
export { AccessEntry } from './snapshots/access-entry.js';
export { AccessSnapshots } from './snapshots/access-snapshots.js';
export type { AccessTokenClaims } from './tokens/access-token.js';
export { keysOf } from './tokens/jwks-keys.js';
export { UserAuthenticator } from './users/user.authenticator.js';
