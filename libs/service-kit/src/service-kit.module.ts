import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TerminusModule } from '@nestjs/terminus';
import type { ServiceName } from '@rmm/contracts';
import type { FleetConfig } from './config/fleet-config.js';
import { HealthRegistry } from './health/health-registry.js';
import { ReadinessService } from './health/readiness.service.js';
import { UnknownPathHandler } from './http/unknown-path.middleware.js';
import { JobScheduler } from './jobs/job-scheduler.service.js';
import { ConcurrencyLimits } from './limits/concurrency-limits.service.js';
import { ClientRateLimitGuard } from './limits/rate-limit.guard.js';
import { RateLimits } from './limits/rate-limits.service.js';
import { Logger } from './logging/logger.js';
import { MetricsRegistry } from './metrics/metrics-registry.js';
import { OpenApiDocuments } from './openapi/openapi-documents.service.js';
import { RedisConnections } from './redis/redis-connections.js';
import { Clock } from './time/clock.js';
import { FLEET_CONFIG, SERVICE_NAME } from './tokens.js';

/** Global: configuration, clock, log, health, metrics, Redis, limits and OpenAPI for every feature of a service. */
@Module({})
export class ServiceKitModule {
  static forRoot(config: FleetConfig, service: ServiceName): DynamicModule {
    const providers = [
      { provide: FLEET_CONFIG, useValue: config },
      { provide: SERVICE_NAME, useValue: service },
      Clock,
      HealthRegistry,
      JobScheduler,
      ReadinessService,
      UnknownPathHandler,
      OpenApiDocuments,
      { provide: Logger, useFactory: () => Logger.create({ service, level: config.logLevel }) },
      { provide: MetricsRegistry, useFactory: () => new MetricsRegistry(service) },
      {
        provide: RedisConnections,
        inject: [HealthRegistry, Logger],
        useFactory: (health: HealthRegistry, logger: Logger) => new RedisConnections(config, health, logger),
      },
      {
        provide: ConcurrencyLimits,
        inject: [RedisConnections],
        useFactory: (redis: RedisConnections) => new ConcurrencyLimits(redis),
      },
      {
        provide: RateLimits,
        inject: [RedisConnections],
        useFactory: (redis: RedisConnections) => new RateLimits(redis, config),
      },
    ];
    const imports = [DiscoveryModule, ScheduleModule.forRoot(), TerminusModule.forRoot({ logger: false })];
    return {
      module: ServiceKitModule,
      global: true,
      imports,
      providers: [...providers, { provide: APP_GUARD, useClass: ClientRateLimitGuard }],
      exports: providers,
    };
  }
}
