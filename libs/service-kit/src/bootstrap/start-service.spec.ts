import { Controller, Get, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { Agent, get as httpGet } from 'node:http';
import { eventually, freePort } from '@rmm/testing-services';
import { configOf } from '../../test/kit-test-app.js';
import { ServiceKitModule } from '../service-kit.module.js';
import { Shutdown } from './shutdown.js';
import { startService } from './start-service.js';

const CHANGES = {
  RATE_LIMITS_ENABLED: 'false',
  LOG_LEVEL: 'error',
  SHUTDOWN_GRACE_SECONDS: '3',
  SHUTDOWN_DELAY_SECONDS: '1',
};

interface Reply {
  status: number;
  connection?: string;
  body: string;
}

function get(port: number, path: string, agent?: Agent): Promise<Reply> {
  return new Promise((resolve, reject) => {
    httpGet({ port, path, host: '127.0.0.1', agent: agent ?? false }, (reply) => {
      let body = '';
      reply.on('data', (chunk: Buffer) => (body += chunk.toString()));
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, connection: reply.headers.connection, body }));
    }).on('error', reject);
  });
}

/** Starts a service whose initialization and responses wait for the spec. */
async function startSlowService() {
  const nothing = () => undefined;
  const gates: Record<'initialize' | 'reply', () => void> = { initialize: nothing, reply: nothing };
  const received = { count: 0 };
  const events: string[] = [];

  @Controller('slow')
  class SlowController {
    @Get()
    slow(): Promise<object> {
      received.count++;
      return new Promise((resolve) => (gates.reply = () => resolve({ done: true })));
    }
  }
  @Injectable()
  class Initializer implements OnModuleInit {
    onModuleInit(): Promise<void> {
      return new Promise((resolve) => (gates.initialize = resolve));
    }
    onApplicationShutdown(): void {
      events.push('connections closed');
    }
  }
  const config = configOf({ ...CHANGES, PORT: String(await freePort()) });
  @Module({
    imports: [ServiceKitModule.forRoot(config, 'provisioning')],
    controllers: [SlowController],
    providers: [Initializer],
  })
  class SlowModule {}
  const on = jest.spyOn(Shutdown.prototype, 'onSignals').mockReturnValue(undefined);
  const starting = startService({
    service: 'provisioning',
    module: SlowModule,
    config,
    openApi: { title: 'Slow', description: 'For specs' },
    microservices: () => void events.push('consumers connected'),
  });
  const stop = () => (on.mock.contexts[0] as Shutdown).stop();
  return { port: config.port, starting, gates, received, events, stop };
}

describe('startService', () => {
  afterEach(() => jest.restoreAllMocks());

  it('is live before it is ready and drains before it stops', async () => {
    const { port, starting, gates, received, events, stop } = await startSlowService();
    await eventually(async () => expect((await get(port, '/health/live')).status).toBe(200));
    expect((await get(port, '/health/ready')).body).toContain('"state":"starting"');
    expect((await get(port, '/api/v1/slow')).status).toBe(503);
    gates.initialize();
    await starting;
    expect(events).toEqual(['consumers connected']);

    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await get(port, '/health/live', agent)).connection).toBe('keep-alive');
    const reply = get(port, '/api/v1/slow');
    await eventually(() => expect(received.count).toBe(1));
    const stopped = stop();
    const ready = await get(port, '/health/ready', agent);
    expect(ready).toMatchObject({ status: 503, connection: 'close' });
    expect(ready.body).toContain('"state":"draining"');
    expect(events).toHaveLength(1);
    gates.reply();
    expect(await reply).toMatchObject({ status: 200, body: '{"done":true}' });
    await stopped;
    await expect(get(port, '/health/live')).rejects.toThrow('ECONNREFUSED');
    expect(events).toEqual(['consumers connected', 'connections closed']);
    agent.destroy();
  });

  it('stops when the grace time is over, even with requests in flight', async () => {
    const { port, starting, gates, received, stop } = await startSlowService();
    await eventually(() => get(port, '/health/live'));
    gates.initialize();
    await starting;
    const reply = get(port, '/api/v1/slow').catch((error: { code: string }) => error.code);
    await eventually(() => expect(received.count).toBe(1));
    await stop();
    expect(await reply).toBe('ECONNRESET');
  });

  it('listens to signals until it is closed, so that nothing refers to it afterwards', async () => {
    const config = configOf({ ...CHANGES, PORT: String(await freePort()) });
    @Module({ imports: [ServiceKitModule.forRoot(config, 'provisioning')] })
    class EmptyModule {}
    const openApi = { title: 'Empty', description: 'For specs' };
    const count = () => [process.listenerCount('SIGTERM'), process.listenerCount('SIGINT')];
    const before = count();
    const app = await startService({ service: 'provisioning', module: EmptyModule, config, openApi });
    expect(count()).toEqual(before.map((listeners) => listeners + 1));
    await app.close();
    expect(count()).toEqual(before);
  });

  it('closes its port when it cannot start', async () => {
    @Injectable()
    class Broken implements OnModuleInit {
      onModuleInit(): void {
        throw new Error('the schema is behind');
      }
    }
    const config = configOf({ ...CHANGES, PORT: String(await freePort()) });
    @Module({ imports: [ServiceKitModule.forRoot(config, 'provisioning')], providers: [Broken] })
    class BrokenModule {}
    const openApi = { title: 'Broken', description: 'For specs' };
    await expect(startService({ service: 'provisioning', module: BrokenModule, config, openApi })).rejects.toThrow(
      'the schema is behind',
    );
    await expect(get(config.port, '/health/live')).rejects.toThrow('ECONNREFUSED');
  });
});
