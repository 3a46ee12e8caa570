import { Controller, type INestApplication } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { rpc } from '@rmm/contracts';
import { ConflictError, currentContext, runInContext, UnavailableError } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { startFixture, type Fixture } from '../../test/messaging-fixture.js';
import { RpcClient } from '../index.js';

const ECHO = rpc<{ text: string }, { text: string; requestId?: string; traceparent?: string }>(
  'provisioning.spec.echo',
);
const NOTHING = rpc<{ id: string }, { found: true } | null>('provisioning.spec.nothing');
const TAKEN = rpc<{ slug: string }, never>('provisioning.spec.taken');
const BROKEN = rpc<object, never>('provisioning.spec.broken');
const SLOW = rpc<object, { done: boolean }>('provisioning.spec.slow', 200);
const NOBODY = rpc<object, never>('provisioning.spec.nobody');

class SlugTaken extends ConflictError {
  override code = 'partner_provisioning_slug_conflict';
}

const releases: (() => void)[] = [];

@Controller()
class SpecController {
  @MessagePattern(ECHO.subject)
  echo(@Payload() request: { text: string }) {
    return { text: request.text, ...currentContext() };
  }

  @MessagePattern(NOTHING.subject)
  nothing() {
    return null;
  }

  @MessagePattern(TAKEN.subject)
  taken(@Payload() { slug }: { slug: string }): Promise<never> {
    return Promise.reject(
      new SlugTaken('Slug is taken', { extras: { count: 2 }, message: `${slug} is taken`, cause: 'secret' }),
    );
  }

  @MessagePattern(BROKEN.subject)
  broken(): never {
    throw new Error('password=hunter2 at line 7');
  }

  @MessagePattern(SLOW.subject)
  async slow() {
    await new Promise<void>((resolve) => releases.push(resolve));
    return { done: true };
  }
}

describe('RpcClient', () => {
  let fixture: Fixture;
  let client: RpcClient;
  let app: INestApplication;

  beforeAll(async () => {
    fixture = await startFixture();
    app = await fixture.service({ controllers: [SpecController] });
    client = app.get(RpcClient);
  }, 60_000);
  afterAll(() => fixture.stop(), 30_000);

  const failureOf = (call: Promise<unknown>) =>
    call.then(
      () => Promise.reject(new Error('it succeeded')),
      (error: unknown) => error,
    );

  it('brings back the reply, and runs the handler under the request id and trace of the caller', async () => {
    const context = { requestId: 'req-9', traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    const reply = await runInContext(context, () => client.call(ECHO, { text: 'grüß' }));
    expect(reply.text).toBe('grüß');
    expect(reply.requestId).toBe('req-9');
    expect(reply.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
    expect(await client.call(NOTHING, { id: 'x' })).toBeNull();
  });

  it('throws what the other side threw, by class, code, status and extras, and nothing of its cause', async () => {
    const error = (await failureOf(client.call(TAKEN, { slug: 'acme' }))) as ConflictError;
    expect(error).toBeInstanceOf(ConflictError);
    expect({ status: error.status, code: error.code, error: error.error, extras: error.extras }).toEqual({
      status: 409,
      code: 'partner_provisioning_slug_conflict',
      error: 'Slug is taken',
      extras: { count: 2 },
    });
    expect(error.cause).toBeUndefined();
  });

  it('tells nothing about an unexpected error', async () => {
    const error = (await failureOf(client.call(BROKEN, {}))) as Error & { code: string };
    expect(error.code).toBe('internal_error');
    expect(JSON.stringify({ ...error, message: error.message })).not.toContain('hunter2');
  });

  it('is unavailable when nobody serves it, and when nobody answers in time', async () => {
    for (const call of [client.call(NOBODY, {}), client.call(SLOW, {})]) {
      const error = (await failureOf(call)) as UnavailableError;
      expect(error).toBeInstanceOf(UnavailableError);
      expect(error.retryAfterSeconds).toBe(1);
    }
    releases.forEach((release) => release());
  });

  it('shares requests between replicas and finishes those in hand when one stops', async () => {
    const other = await fixture.service({ controllers: [SpecController] });
    const calls = Array.from({ length: 20 }, () => client.call(SLOW, {}, { timeoutMs: 5_000 }));
    await eventually(() => expect(releases.length).toBeGreaterThanOrEqual(21));
    const closing = other.close();
    releases.forEach((release) => release());
    expect(await Promise.all(calls)).toEqual(calls.map(() => ({ done: true })));
    await closing;
    expect((await client.call(ECHO, { text: 'still here' })).text).toBe('still here');
  });

  it('fails at once while NATS is down and works again when it is back', async () => {
    await fixture.nats.stop();
    await eventually(async () => {
      const started = performance.now();
      expect(await failureOf(client.call(ECHO, { text: 'x' }))).toBeInstanceOf(UnavailableError);
      expect(performance.now() - started).toBeLessThan(100);
    });
    await fixture.nats.start();
    await eventually(async () => expect((await client.call(ECHO, { text: 'back' })).text).toBe('back'));
  }, 30_000);
});
