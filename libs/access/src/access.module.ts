import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, ModuleRef, ModulesContainer } from '@nestjs/core';
import { CREDENTIALS_KEYS_RECORD_USAGE, type ServiceName } from '@rmm/contracts';
import { AuditTrail, Broadcasts, NatsLink, RpcClient } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { Clock, type FleetConfig, Logger, OpenApiDocuments, RateLimits, RedisConnections } from '@rmm/service-kit';
import { AccessLifecycle } from './invalidation/invalidation.consumer.js';
import { AccessGuard } from './access.guard.js';
import { AgentAuthenticator } from './agents/agent.authenticator.js';
import { CallAudit } from './audit/call-audit.interceptor.js';
import { FallbackAudit } from './audit/fallback-audit.service.js';
import { Denials } from './audit/denial-audit.service.js';
import { OrganizationDirectoryConsumer } from './directory/organization-directory.consumer.js';
import { OrganizationDirectory } from './directory/organization-directory.service.js';
import { AccessFeeds } from './invalidation/invalidation-feeds.service.js';
import { AccessFeed, CredentialFeed, HeartbeatPublisher } from './invalidation/heartbeat-publisher.service.js';
import { broadcastsFlow } from './invalidation/outbox-delay.repository.js';
import { ApiKeyAuthenticator } from './keys/api-key.authenticator.js';
import { KeyRecords } from './keys/key-records.service.js';
import { KeyUsage } from './keys/key-usage.service.js';
import { KeyWindow } from './keys/key-window.service.js';
import { FailedAuthenticationThrottle } from './keys/failed-authentication-throttle.service.js';
import { AccessSnapshots } from './snapshots/access-snapshots.service.js';
import { Sources } from './access-sources.service.js';
import { TokenKeys } from './tokens/verification-keys.service.js';
import { TokenVerifier } from './tokens/token-verifier.service.js';
import { TenantStatusCheck } from './users/tenant-status-check.service.js';
import { UserAuthenticator } from './users/user.authenticator.js';

export interface AccessModuleOptions {
  config: Pick<FleetConfig, 'jwtIssuer' | 'jwtAudience' | 'publicAppUrl'> & {
    /** `JWKS_URL`; not needed where VERIFICATION_KEYS is provided, nor where no route is for users. */
    jwksUrl?: string;
  };
  service: ServiceName;
  /**
   * What the service knows of organizations: a table fed by facts, its own tables (ORGANIZATION_SOURCE), or nothing.
   * By default provisioning has its own, partner-gateway nothing, everybody else the table.
   */
  organizations?: 'table' | 'own' | 'none';
}

/** Global: the guard, the doors behind it, and what they know. Needs ServiceKit, Persistence and Messaging modules. */
@Module({})
export class AccessModule {
  static forRoot(options: AccessModuleOptions): DynamicModule {
    const organizations = options.organizations ?? defaultOrganizations(options.service);
    const providers = [
      ...knowledge(options, organizations),
      ...doors(options),
      lifecycle(options.service, organizations),
    ];
    return {
      module: AccessModule,
      global: true,
      controllers: organizations === 'table' ? [OrganizationDirectoryConsumer] : [],
      providers: [
        ...providers,
        { provide: APP_GUARD, useExisting: AccessGuard },
        { provide: APP_INTERCEPTOR, useExisting: CallAudit },
      ],
      exports: [
        AccessSnapshots,
        OrganizationDirectory,
        UserAuthenticator,
        ApiKeyAuthenticator,
        KeyWindow,
        AccessFeeds,
        Denials,
      ],
    };
  }
}

type Organizations = NonNullable<AccessModuleOptions['organizations']>;

function defaultOrganizations(service: ServiceName): Organizations {
  if (service === 'provisioning') return 'own';
  return service === 'partner-gateway' ? 'none' : 'table';
}

function knowledge({ config }: AccessModuleOptions, organizations: Organizations): Provider[] {
  return [
    {
      provide: Sources,
      inject: [ModuleRef, RpcClient],
      useFactory: (modules: ModuleRef, rpc: RpcClient) => new Sources(modules, rpc),
    },
    {
      provide: AccessFeeds,
      inject: [Broadcasts, Clock],
      useFactory: (broadcasts: Broadcasts, clock: Clock) => new AccessFeeds(broadcasts, clock),
    },
    {
      provide: AccessSnapshots,
      inject: [Sources, AccessFeeds, Clock],
      useFactory: ({ access }: Sources, feeds: AccessFeeds, clock: Clock) =>
        new AccessSnapshots(access, feeds.access, clock),
    },
    {
      provide: KeyRecords,
      inject: [Sources, AccessFeeds, Clock],
      useFactory: ({ keys }: Sources, { access, credentials }: AccessFeeds, clock: Clock) =>
        new KeyRecords(keys, [credentials, access], clock),
    },
    {
      provide: OrganizationDirectory,
      inject: [Sources, RpcClient, Clock, { token: WorkerDatabase, optional: true }],
      useFactory: (sources: Sources, rpc: RpcClient, clock: Clock, worker?: WorkerDatabase) =>
        new OrganizationDirectory({
          worker: organizations === 'table' ? worker : undefined,
          source: sources.organizations,
          rpc,
          clock,
        }),
    },
    {
      provide: TokenKeys,
      inject: [Sources, Clock],
      useFactory: (sources: Sources, clock: Clock) => new TokenKeys(sources, config.jwksUrl, clock),
    },
  ];
}

function doors({ config }: AccessModuleOptions): Provider[] {
  return [
    {
      provide: Denials,
      inject: [AuditTrail, Clock, Logger],
      useFactory: (audit: AuditTrail, clock: Clock, logger: Logger) => new Denials(audit, clock, logger),
    },
    {
      provide: FallbackAudit,
      inject: [AuditTrail, Logger],
      useFactory: (audit: AuditTrail, logger: Logger) => new FallbackAudit(audit, logger),
    },
    {
      provide: CallAudit,
      inject: [Denials, FallbackAudit],
      useFactory: (denials: Denials, fallback: FallbackAudit) => new CallAudit(denials, fallback),
    },
    {
      provide: TokenVerifier,
      inject: [TokenKeys, Clock],
      useFactory: (keys: TokenKeys, clock: Clock) =>
        new TokenVerifier({ keys, issuer: config.jwtIssuer, audience: config.jwtAudience, clock }),
    },
    {
      provide: UserAuthenticator,
      inject: [TokenVerifier, AccessSnapshots, OrganizationDirectory, Denials],
      useFactory: (
        verifier: TokenVerifier,
        snapshots: AccessSnapshots,
        directory: OrganizationDirectory,
        denials: Denials,
      ) => {
        const tenants = new TenantStatusCheck((orgId) => directory.find(orgId), config.publicAppUrl);
        return new UserAuthenticator(verifier, snapshots, tenants, denials);
      },
    },
    {
      provide: KeyWindow,
      inject: [RedisConnections],
      useFactory: (redis: RedisConnections) => new KeyWindow(redis),
    },
    {
      provide: KeyUsage,
      inject: [RpcClient, Clock, Logger],
      useFactory: (rpc: RpcClient, clock: Clock, logger: Logger) =>
        new KeyUsage((batch) => rpc.call(CREDENTIALS_KEYS_RECORD_USAGE, batch), clock, logger),
    },
    {
      provide: ApiKeyAuthenticator,
      inject: [KeyRecords, RateLimits, KeyWindow, KeyUsage, Clock],
      useFactory: (records: KeyRecords, limits: RateLimits, window: KeyWindow, usage: KeyUsage, clock: Clock) =>
        new ApiKeyAuthenticator(records, new FailedAuthenticationThrottle(limits, clock), window, usage, clock),
    },
    {
      provide: AgentAuthenticator,
      inject: [Sources],
      useFactory: ({ agents }: Sources) => new AgentAuthenticator(agents),
    },
    {
      provide: AccessGuard,
      inject: [UserAuthenticator, ApiKeyAuthenticator, AgentAuthenticator, Denials],
      useFactory: (users: UserAuthenticator, keys: ApiKeyAuthenticator, agents: AgentAuthenticator, denials: Denials) =>
        new AccessGuard(users, keys, agents, denials),
    },
  ];
}

function lifecycle(service: ServiceName, organizations: Organizations): Provider {
  return {
    provide: AccessLifecycle,
    inject: [
      ModulesContainer,
      NatsLink,
      AccessFeeds,
      AccessSnapshots,
      KeyRecords,
      KeyUsage,
      Denials,
      FallbackAudit,
      OrganizationDirectory,
      Sources,
      TokenKeys,
      OpenApiDocuments,
      Logger,
      Broadcasts,
      { token: WorkerDatabase, optional: true },
    ],
    useFactory: (
      modules: ModulesContainer,
      link: NatsLink,
      feeds: AccessFeeds,
      snapshots: AccessSnapshots,
      records: KeyRecords,
      usage: KeyUsage,
      denials: Denials,
      fallback: FallbackAudit,
      directory: OrganizationDirectory,
      sources: Sources,
      keys: TokenKeys,
      openApi: OpenApiDocuments,
      logger: Logger,
      broadcasts: Broadcasts,
      worker?: WorkerDatabase,
    ) =>
      new AccessLifecycle({
        modules,
        link,
        feeds,
        snapshots,
        records,
        usage,
        denials,
        fallback,
        directory: organizations === 'none' ? undefined : directory,
        heart: heartOf(service, broadcasts, worker),
        sources,
        canVerifyTokens: () => keys.exist,
        openApi,
        logger,
      }),
  };
}

/** Who publishes invalidations beats beside them. */
function heartOf(
  service: ServiceName,
  broadcasts: Broadcasts,
  worker?: WorkerDatabase,
): HeartbeatPublisher | undefined {
  const mayBeat = worker && (() => broadcastsFlow(worker));
  if (service === 'identity') return new AccessFeed(broadcasts, mayBeat);
  return service === 'credentials' ? new CredentialFeed(broadcasts, mayBeat) : undefined;
}
