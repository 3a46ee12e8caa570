import { type CanActivate, Controller, type ExecutionContext, Get, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import type { Server } from 'node:http';
import request from 'supertest';
import { UnauthenticatedError } from '@rmm/errors';
import { RateLimit } from '@rmm/rate-limits';
import { type Stores, startStores } from '@rmm/testing-services';
import { configOf } from '../../test/kit-test-app.js';
import { configureApp } from '../bootstrap/configure-app.js';
import { HealthRegistry } from '../health/health-registry.service.js';
import { ServiceKitModule } from '../service-kit.module.js';
import type { AuthenticatedRequest } from './kit-request.types.js';

const windowOf = (name: string): RateLimit => ({ name, limit: 1, windowSeconds: 60, onRedisDown: 'refuse' });

@Controller('limited')
class LimitedController {
  @Get('by-client')
  @RateLimit(windowOf('by-client'))
  byClient(): object {
    return {};
  }

  @Get('by-user')
  @RateLimit(windowOf('by-user'), 'user')
  byUser(): object {
    return {};
  }

  @Get('by-tenant')
  @RateLimit({ ...windowOf('by-tenant-wide'), limit: 2 }, () => 'all')
  @RateLimit(windowOf('by-tenant'), (given) => given.headers['x-tenant'] as string)
  byTenant(): object {
    return {};
  }
}

/** Authenticates the user named by a header, as the access guard does. */
class FakeAccessGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const given = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const userId = given.headers['x-user'] as string | undefined;
    if (userId === undefined) throw new UnauthenticatedError();
    given.caller = { actor: { type: 'user', id: userId }, partnerId: null, orgId: null, userId };
    return true;
  }
}

@Module({ providers: [{ provide: APP_GUARD, useClass: FakeAccessGuard }] })
class FakeAccessModule {}

describe('@RateLimit', () => {
  let stores: Stores;
  let server: Server;
  let close: () => Promise<void>;

  beforeAll(async () => {
    stores = await startStores();
    const config = configOf({ REDIS_URL: stores.redisUrl, LOG_LEVEL: 'error' });
    const testing = await Test.createTestingModule({
      imports: [ServiceKitModule.forRoot(config, 'provisioning'), FakeAccessModule],
      controllers: [LimitedController],
    }).compile();
    const app = testing.createNestApplication<NestExpressApplication>({ bodyParser: false });
    configureApp(app, { config, openApi: { title: 'Limited', description: 'For specs' } });
    await app.init();
    app.get(HealthRegistry).state = 'ready';
    server = app.getHttpServer();
    close = () => app.close();
  });
  afterAll(async () => {
    await close();
    await stores.stop();
  });

  const statusOf = async (path: string, headers: Record<string, string> = {}) =>
    (await request(server).get(`/api/v1/limited/${path}`).set(headers)).status;

  it('counts by client before authentication', async () => {
    expect(await statusOf('by-client')).toBe(401);
    expect(await statusOf('by-client', { 'X-User': 'u' })).toBe(429);
  });

  it('counts by user after the access checks', async () => {
    expect(await statusOf('by-user')).toBe(401);
    expect(await statusOf('by-user', { 'X-User': 'a' })).toBe(200);
    expect(await statusOf('by-user', { 'X-User': 'a' })).toBe(429);
    expect(await statusOf('by-user', { 'X-User': 'b' })).toBe(200);
  });

  it('counts by the key that a function names and checks every limit of a route', async () => {
    const headers = { 'X-User': 'u', 'X-Tenant': 't-1' };
    expect(await statusOf('by-tenant', headers)).toBe(200);
    expect(await statusOf('by-tenant', headers)).toBe(429);
    expect(await statusOf('by-tenant', { ...headers, 'X-Tenant': 't-2' })).toBe(429);
  });
});
