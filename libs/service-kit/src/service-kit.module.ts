import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TerminusModule } from '@nestjs/terminus';
import type { FleetConfig } from '@rmm/config';
import type { ServiceName } from '@rmm/contracts';
import { OpenApiDocuments } from '@rmm/openapi';
import {
  ClientRateLimitGuard,
  ConcurrencyLimits,
  GlobalLimit,
  LIMITS_OBSERVER,
  LIMITS_REDIS,
  RATE_LIMITS_CONFIG,
  RateLimits,
} from '@rmm/rate-limits';
import { HealthRegistry } from './health/health-registry.service.js';
import { ReadinessService } from './health/readiness.service.js';
import { RequestObserver } from './http/request-observer.middleware.js';
import { RequestPipeline } from './http/request-pipeline.middleware.js';
import { ServiceEndpoints } from './http/service-endpoints.middleware.js';
import { JobScheduler } from './jobs/job-scheduler.service.js';
import { Logger } from './logging/logger.service.js';
import { MetricsRegistry } from './metrics/metrics-registry.service.js';
import { RateLimitMetrics, ServiceMetrics } from './metrics/service.metrics.js';
import { RedisConnections } from './redis/redis-connections.service.js';
import { Clock } from './time/clock.service.js';
import { FLEET_CONFIG, SERVICE_NAME } from './tokens.js';
import { TracingLifecycle } from './tracing/tracing.lifecycle.js';

const SHARED = [
  Clock,
  ConcurrencyLimits,
  HealthRegistry,
  JobScheduler,
  MetricsRegistry,
  OpenApiDocuments,
  RateLimits,
  RedisConnections,
];
const INTERNAL = [
  GlobalLimit,
  ReadinessService,
  RequestObserver,
  RequestPipeline,
  ServiceEndpoints,
  ServiceMetrics,
  TracingLifecycle,
];

/** Global: configuration, clock, log, health, metrics, Redis, limits and OpenAPI for every feature of a service. */
@Module({ imports: [DiscoveryModule, ScheduleModule.forRoot(), TerminusModule.forRoot({ logger: false })] })
export class ServiceKitModule {
  static forRoot(config: FleetConfig, service: ServiceName): DynamicModule {
    const shared = [
      { provide: FLEET_CONFIG, useValue: config },
      { provide: SERVICE_NAME, useValue: service },
      { provide: RATE_LIMITS_CONFIG, useValue: config },
      { provide: LIMITS_OBSERVER, useClass: RateLimitMetrics },
      { provide: LIMITS_REDIS, useExisting: RedisConnections },
      { provide: Logger, useFactory: () => Logger.create({ service, level: config.logLevel }) },
      ...SHARED,
    ];
    return {
      module: ServiceKitModule,
      global: true,
      providers: [...shared, ...INTERNAL, { provide: APP_GUARD, useClass: ClientRateLimitGuard }],
      exports: shared,
    };
  }
}
