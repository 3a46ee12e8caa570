import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { BroadcastOutboxRepository, Broadcasts, NatsLink } from '@rmm/messaging';
import { AccessSources } from './access-sources.service.js';
import { ACCESS_CONFIG, type AccessConfig, type AccessModuleOptions, toAccessConfig } from './access.config.js';
import { AccessGuard } from './access.guard.js';
import { AccessMetrics } from './access.metrics.js';
import { AgentRecords } from './agents/agent-records.service.js';
import { AgentAuthenticator } from './agents/agent.authenticator.js';
import { CallAuditService } from './audit/call-audit.service.js';
import { DenialAuditService } from './audit/denial-audit.service.js';
import { FallbackAuditService } from './audit/fallback-audit.service.js';
import { DirectoryTools } from './directory/directory-tools.service.js';
import { DirectoryMetrics } from './directory/directory.metrics.js';
import { OrganizationDirectoryConsumer } from './directory/organization-directory.consumer.js';
import { OrganizationDirectoryRepository } from './directory/organization-directory.repository.js';
import { OrganizationDirectory } from './directory/organization-directory.service.js';
import { PartnerDirectoryConsumer } from './directory/partner-directory.consumer.js';
import { PartnerDirectoryRepository } from './directory/partner-directory.repository.js';
import { PartnerDirectory } from './directory/partner-directory.service.js';
import { ReconcileDirectoriesJob } from './directory/reconcile-directories.job.js';
import { type HeartbeatTopic, HeartbeatPublisher } from './invalidation/heartbeat-publisher.service.js';
import { InvalidationFeeds } from './invalidation/invalidation-feeds.service.js';
import { InvalidationConsumer } from './invalidation/invalidation.consumer.js';
import { ApiKeyAuthenticator } from './keys/api-key.authenticator.js';
import { FailedAuthenticationThrottle } from './keys/failed-authentication-throttle.service.js';
import { KeyRecords } from './keys/key-records.service.js';
import { KeyUsage } from './keys/key-usage.service.js';
import { KeyWindow } from './keys/key-window.service.js';
import { RouteAccessCheck } from './route-access/route-access-check.service.js';
import { ScimAuthenticator } from './scim/scim.authenticator.js';
import { AccessSnapshots } from './snapshots/access-snapshots.service.js';
import { JwtAuthGuard } from './tokens/jwt-auth.guard.js';
import { JwtStrategy } from './tokens/jwt.strategy.js';
import { TokenVerifier } from './tokens/token-verifier.service.js';
import { VerificationKeysService } from './tokens/verification-keys.service.js';
import { VerifiedTokens } from './tokens/verified-tokens.service.js';
import { TenantStatusCheck } from './users/tenant-status-check.service.js';
import { UserAuthenticator } from './users/user.authenticator.js';

const PROVIDERS = [
  AccessGuard,
  AccessMetrics,
  AccessSnapshots,
  AccessSources,
  AgentAuthenticator,
  AgentRecords,
  ApiKeyAuthenticator,
  CallAuditService,
  DenialAuditService,
  DirectoryMetrics,
  DirectoryTools,
  FailedAuthenticationThrottle,
  FallbackAuditService,
  InvalidationConsumer,
  InvalidationFeeds,
  JwtAuthGuard,
  JwtStrategy,
  KeyRecords,
  KeyUsage,
  KeyWindow,
  OrganizationDirectory,
  OrganizationDirectoryRepository,
  PartnerDirectory,
  PartnerDirectoryRepository,
  ReconcileDirectoriesJob,
  RouteAccessCheck,
  ScimAuthenticator,
  TenantStatusCheck,
  TokenVerifier,
  UserAuthenticator,
  VerificationKeysService,
  VerifiedTokens,
];

/**
 * Authenticates and authorizes every request of a service. Global; needs the ServiceKit, Messaging and (where the
 * service has a database) Persistence modules.
 */
@Module({})
export class AccessModule {
  static forRoot(options: AccessModuleOptions): DynamicModule {
    const config = toAccessConfig(options);
    return {
      module: AccessModule,
      global: true,
      controllers: [
        ...(config.organizations === 'table' ? [OrganizationDirectoryConsumer] : []),
        ...(config.partners === 'table' ? [PartnerDirectoryConsumer] : []),
      ],
      providers: [
        ...PROVIDERS,
        { provide: ACCESS_CONFIG, useValue: config },
        {
          provide: HeartbeatPublisher,
          inject: [Broadcasts, BroadcastOutboxRepository, NatsLink],
          useFactory: heartbeatOf(config),
        },
        { provide: APP_GUARD, useExisting: AccessGuard },
      ],
      exports: [
        AgentRecords,
        AccessSnapshots,
        ApiKeyAuthenticator,
        DenialAuditService,
        InvalidationFeeds,
        KeyWindow,
        OrganizationDirectory,
        PartnerDirectory,
        UserAuthenticator,
      ],
    };
  }
}

/**
 * Creates the publisher in the services that own what others cache, and null in the others. An invalidation may have
 * been lost while NATS was away, so a reconnect skips a number.
 */
function heartbeatOf({ service }: AccessConfig) {
  const topics: Partial<Record<string, HeartbeatTopic>> = {
    identity: 'access.heartbeat',
    credentials: 'credential.heartbeat',
    provisioning: 'organization.heartbeat',
  };
  const topic = topics[service];
  return (broadcasts: Broadcasts, outbox: BroadcastOutboxRepository, link: NatsLink): HeartbeatPublisher | null => {
    if (topic === undefined) return null;
    const publisher = new HeartbeatPublisher(broadcasts, topic, () => outbox.oldestMs());
    link.onReconnect(() => publisher.skipNumber());
    return publisher;
  };
}
