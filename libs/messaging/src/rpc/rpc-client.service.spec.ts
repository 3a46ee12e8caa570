import { Controller, type INestApplication } from '@nestjs/common';
import type { MessageHandler } from '@nestjs/microservices';
import { z } from 'zod';
import { replyOf, rpc } from '@rmm/contracts';
import {
  ConflictError,
  currentContext,
  RequestDeadline,
  RequestExpired,
  runInContext,
  UnavailableError,
  ValidationError,
} from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import { startMessagingTestApp, type MessagingTestApp } from '../../test/messaging-test-app.js';
import { NatsLink } from '../connection/nats-link.service.js';
import { RpcClient, RpcHandler } from '../index.js';
import { MessagingMetrics } from '../messaging.metrics.js';
import { RpcServer } from './rpc-server.js';

const ECHO = rpc('provisioning.spec.echo', {
  request: z.object({ text: z.string().max(20) }),
  reply: replyOf<{ text: string; requestId?: string; traceparent?: string }>(),
});
const NOTHING = rpc('provisioning.spec.nothing', {
  request: z.object({ id: z.string() }),
  reply: replyOf<{ found: true } | null>(),
});
const TAKEN = rpc('provisioning.spec.taken', { request: z.object({ slug: z.string() }), reply: replyOf<string>() });
const BROKEN = rpc('provisioning.spec.broken', { request: z.object({}), reply: replyOf<string>() });
const SLOW = rpc('provisioning.spec.slow', {
  request: z.object({}),
  reply: replyOf<{ done: boolean }>(),
  timeoutMs: 200,
});
const COUNTED = rpc('provisioning.spec.counted', { request: z.object({}), reply: replyOf<number>() });
const PATIENT = rpc('provisioning.spec.patient', {
  request: z.object({}),
  reply: replyOf<null>(),
  timeoutMs: 300,
});
const FIRST_LOST = { request: z.object({}), reply: replyOf<number>(), timeoutMs: 1_500 };
const REPEATED = rpc('provisioning.spec.repeated', { ...FIRST_LOST, idempotent: true });
const UNREPEATED = rpc('provisioning.spec.unrepeated', FIRST_LOST);
const UNSERVED = rpc('provisioning.spec.unserved', { request: z.object({}), reply: replyOf<string>() });
const STOPPING = rpc('provisioning.spec.stopping', { request: z.object({}), reply: replyOf<string>() });

class SlugTaken extends ConflictError {
  override code = 'partner_provisioning_slug_conflict';
}

const releases: (() => void)[] = [];
const deadlines: RequestDeadline[] = [];
let served = 0;
let repeated = 0;
let unrepeated = 0;

/** Never replies to the first request, like a replica that was killed while it worked. */
async function replyToSecond(count: number): Promise<number> {
  if (count === 1) await new Promise<void>((resolve) => releases.push(resolve));
  return count;
}

@Controller()
class SpecController {
  @RpcHandler(ECHO)
  echo(request: { text: string }) {
    const { requestId, traceparent } = currentContext() ?? {};
    return { text: request.text, requestId, traceparent };
  }

  @RpcHandler(NOTHING)
  nothing() {
    return null;
  }

  @RpcHandler(TAKEN)
  taken({ slug }: { slug: string }): Promise<never> {
    return Promise.reject(
      new SlugTaken('Slug is taken', { extras: { count: 2 }, message: `${slug} is taken`, cause: 'secret' }),
    );
  }

  @RpcHandler(PATIENT)
  async wait() {
    const deadline = currentContext()?.deadline;
    if (deadline) deadlines.push(deadline);
    await new Promise<void>((resolve) => releases.push(resolve));
    return null;
  }

  @RpcHandler(COUNTED)
  count() {
    return ++served;
  }

  @RpcHandler(REPEATED)
  repeat() {
    return replyToSecond(++repeated);
  }

  @RpcHandler(UNREPEATED)
  handleOnce() {
    return replyToSecond(++unrepeated);
  }

  @RpcHandler(BROKEN)
  broken(): never {
    throw new Error('password=hunter2 at line 7');
  }

  @RpcHandler(SLOW)
  async slow() {
    await new Promise<void>((resolve) => releases.push(resolve));
    return { done: true };
  }
}

describe('RpcClient', () => {
  let testApp: MessagingTestApp;
  let client: RpcClient;
  let app: INestApplication;

  beforeAll(async () => {
    testApp = await startMessagingTestApp();
    app = await testApp.startService({ controllers: [SpecController] });
    client = app.get(RpcClient);
  });
  afterAll(() => testApp.stop(), 30_000);

  const failureOf = (call: Promise<unknown>) =>
    call.then(
      () => Promise.reject(new Error('it succeeded')),
      (error: unknown) => error,
    );

  it('returns the reply and runs the handler under the request id and trace of the caller', async () => {
    const context = { requestId: 'req-9', traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    const reply = await runInContext(context, () => client.call(ECHO, { text: 'grüß' }));
    expect(reply.text).toBe('grüß');
    expect(reply.requestId).toBe('req-9');
    expect(reply.traceparent).toBe(context.traceparent);
    expect(await client.call(NOTHING, { id: 'x' })).toBeNull();
  });

  it('throws the error of the other side with its class, code, status and extras, and without its cause', async () => {
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

  it('refuses a malformed request with validation_failed and the fields at fault, before the handler runs', async () => {
    const error = (await failureOf(client.call(ECHO, { text: 7 } as never))) as ValidationError;
    expect(error).toBeInstanceOf(ValidationError);
    expect([error.status, error.code]).toEqual([400, 'validation_failed']);
    expect(error.fieldErrors).toEqual({ text: [expect.stringContaining('expected string')] });
    const tooLong = (await failureOf(client.call(ECHO, { text: 'x'.repeat(21) }))) as ValidationError;
    expect(tooLong.fieldErrors).toEqual({ text: [expect.any(String)] });
  });

  it('drops fields that the contract does not know', async () => {
    const reply = await client.call(ECHO, { text: 'hi', newer: true } as never);
    expect(reply).not.toHaveProperty('newer');
  });

  it('hides the details of an unexpected error', async () => {
    const error = (await failureOf(client.call(BROKEN, {}))) as Error & { code: string };
    expect(error.code).toBe('internal_error');
    expect(JSON.stringify({ ...error, message: error.message })).not.toContain('hunter2');
  });

  it('throws UnavailableError when the contract is not served, and when the reply is late', async () => {
    for (const call of [client.call(UNSERVED, {}), client.call(SLOW, {})]) {
      const error = (await failureOf(call)) as UnavailableError;
      expect(error).toBeInstanceOf(UnavailableError);
      expect(error.retryAfterSeconds).toBe(1);
    }
    releases.forEach((release) => release());
  });

  it('ignores a message that the server reflected: without a reply subject, or with one that is no inbox', async () => {
    const { connection } = testApp;
    const before = served;
    const replies: string[] = [];
    connection.subscribe('rmm.rpc.identity.reflected', { callback: (_, message) => replies.push(message.string()) });
    connection.publish(COUNTED.subject, '{}');
    connection.publish(COUNTED.subject, '{}', { reply: 'rmm.rpc.identity.reflected' });
    // JetStream sends its acknowledgement to the reply subject that the publisher names.
    connection.publish('rmm.internal.identity.spec', '{}', { reply: COUNTED.subject });
    await connection.flush();
    expect(await client.call(COUNTED, {})).toBe(before + 1);
    expect(replies).toEqual([]);
  });

  it('sends an idempotent request again when the replica that got it does not reply', async () => {
    expect(await client.call(REPEATED, {})).toBe(2);
    releases.forEach((release) => release());
  });

  it('sends a request that is not idempotent once', async () => {
    expect(await failureOf(client.call(UNREPEATED, {}))).toBeInstanceOf(UnavailableError);
    expect(unrepeated).toBe(1);
    releases.forEach((release) => release());
  });

  it('gives the handler a deadline before the caller gives up', async () => {
    expect(await failureOf(client.call(PATIENT, {}))).toBeInstanceOf(UnavailableError);
    expect(() => deadlines.at(-1)?.assertOpen()).toThrow(RequestExpired);
    releases.forEach((release) => release());
  });

  it('waits no longer than the request that it is for', async () => {
    const started = performance.now();
    const deadline = new RequestDeadline(50);
    const call = runInContext({ requestId: 'r', deadline }, () => client.call(PATIENT, {}, { timeoutMs: 60_000 }));
    expect(await failureOf(call)).toBeInstanceOf(UnavailableError);
    expect(performance.now() - started).toBeLessThan(30_000);
    releases.forEach((release) => release());
  });

  it('shares requests between replicas and finishes those in progress when one stops', async () => {
    const other = await testApp.startService({ controllers: [SpecController] });
    const calls = Array.from({ length: 20 }, () => client.call(SLOW, {}, { timeoutMs: 5_000 }));
    await eventually(() => expect(releases.length).toBeGreaterThanOrEqual(21));
    const closing = other.close();
    releases.forEach((release) => release());
    expect(await Promise.all(calls)).toEqual(calls.map(() => ({ done: true })));
    await closing;
    expect((await client.call(ECHO, { text: 'still here' })).text).toBe('still here');
  });

  it('replies to every request that NATS had sent to a replica when it stops', async () => {
    const server = new RpcServer(app.get(NatsLink), 'spec', app.get(MessagingMetrics));
    let stopped: Promise<void> | undefined;
    const handler = () => {
      stopped ??= server.stop();
      return Promise.resolve('done');
    };
    server.serve(STOPPING.subject, handler as MessageHandler);
    const calls = Array.from({ length: 20 }, () => client.call(STOPPING, {}));
    expect(await Promise.all(calls)).toEqual(calls.map(() => 'done'));
    await stopped;
    expect(await failureOf(client.call(STOPPING, {}))).toBeInstanceOf(UnavailableError);
  });

  it('fails at once while NATS is down and works again when it is back', async () => {
    await testApp.nats.stop();
    await eventually(async () => {
      const started = performance.now();
      expect(await failureOf(client.call(ECHO, { text: 'x' }))).toBeInstanceOf(UnavailableError);
      expect(performance.now() - started).toBeLessThan(100);
    });
    await testApp.nats.start();
    await eventually(async () => expect((await client.call(ECHO, { text: 'back' })).text).toBe('back'));
  });
});
