import { TerminusModule } from '@nestjs/terminus';
import { Test, type TestingModule } from '@nestjs/testing';
import { HealthRegistry } from './health-registry.service.js';
import { ReadinessService } from './readiness.service.js';

describe('ReadinessService', () => {
  let module: TestingModule;
  let registry: HealthRegistry;
  let readiness: ReadinessService;

  beforeEach(async () => {
    module = await Test.createTestingModule({
      imports: [TerminusModule.forRoot({ logger: false })],
      providers: [HealthRegistry, ReadinessService],
    }).compile();
    registry = module.get(HealthRegistry);
    readiness = module.get(ReadinessService);
    registry.state = 'ready';
  });
  afterEach(() => module.close());

  it('is ok while the service is ready and every dependency is up', async () => {
    registry.register('database', () => Promise.resolve());
    registry.register('redis', () => Promise.resolve());
    expect(await readiness.check()).toEqual({ status: 'ok', state: 'ready', checks: { database: 'up', redis: 'up' } });
  });

  it('names the dependency that is down, without its error', async () => {
    registry.register('database', () => Promise.resolve());
    registry.register('redis', () => Promise.reject(new Error('redis://:secret@host')));
    const found = await readiness.check();
    expect(found).toEqual({ status: 'unavailable', state: 'ready', checks: { database: 'up', redis: 'down' } });
  });

  it.each(['starting', 'draining'] as const)('is unavailable while the service is %s', async (state) => {
    registry.register('database', () => Promise.resolve());
    registry.state = state;
    expect(await readiness.check()).toEqual({ status: 'unavailable', state, checks: { database: 'up' } });
  });

  it('counts a dependency without a response as down', async () => {
    registry.register('nats', () => new Promise(() => undefined));
    expect((await readiness.check()).checks).toEqual({ nats: 'down' });
  });

  it('asks a dependency once for probes that follow each other quickly', async () => {
    const check = jest.fn(() => Promise.resolve());
    registry.register('database', check);
    await readiness.check();
    await readiness.check();
    expect(check).toHaveBeenCalledTimes(1);
  });
});
