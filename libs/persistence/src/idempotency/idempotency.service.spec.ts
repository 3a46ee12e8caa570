import { randomUUID } from 'node:crypto';
import { type IdempotentRequest, runInContext } from '@rmm/service-kit';
import { type IdempotencyFixture, startIdempotency } from '../../test/idempotency.js';
import type { HasTenant } from '../tenants/tenant-context.js';
import {
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  IdempotentResponseNotStored,
  TooManyIdempotencyKeys,
} from './idempotency.errors.js';
import { IdempotencyRepository } from './idempotency.repository.js';
import { Idempotency, IDEMPOTENCY_LIMITS, type ResponseSeal } from './idempotency.service.js';

describe('Idempotency', () => {
  let fixture: IdempotencyFixture;
  const repository = new IdempotencyRepository();
  const idempotency = new Idempotency(repository, { ttlHours: 1 });

  beforeAll(async () => {
    fixture = await startIdempotency();
  });
  afterAll(() => fixture.stop());

  const once = <T>(
    { caller, request }: { caller: HasTenant; request: IdempotentRequest },
    work: () => Promise<T>,
    seal?: ResponseSeal,
  ) =>
    runInContext({ requestId: 'r', idempotency: request }, () =>
      fixture.fleet.tenants.transaction(caller, (tx) => idempotency.once(tx, work, seal)),
    );

  it('runs work once for a key and returns its stored response', async () => {
    const call = fixture.request();
    const work = jest.fn(() => Promise.resolve({ id: 1 }));
    expect(await once(call, work)).toEqual({ id: 1 });
    expect(call.request.replayed).toBe(false);
    expect(await once(call, work)).toEqual({ id: 1 });
    expect(call.request.replayed).toBe(true);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('stores nothing for work that fails, so that the key is free again', async () => {
    const call = fixture.request();
    await expect(once(call, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    expect(await once(call, () => Promise.resolve('now'))).toBe('now');
  });

  it('refuses a key that was used for another body, or that is in use', async () => {
    const call = fixture.request();
    await once(call, () => Promise.resolve());
    await fixture.fleet.worker.transaction(async (tx) => {
      await repository.tryLock(tx, call.request);
      await expect(once(call, () => Promise.resolve())).rejects.toBeInstanceOf(IdempotencyKeyInUse);
    });
    const other = { ...call, request: { ...call.request, bodyHash: 'b' } };
    await expect(once(other, () => Promise.resolve())).rejects.toBeInstanceOf(IdempotencyKeyReused);
  });

  it('refuses a second request while the first one runs in this process', () => {
    const { request } = fixture.request();
    const end = idempotency.start(request);
    expect(() => idempotency.start(request)).toThrow(IdempotencyKeyInUse);
    end();
    expect(() => idempotency.start(request)).not.toThrow();
  });

  it('stores a response that contains a key sealed', async () => {
    const call = fixture.request();
    const seal = {
      seconds: 60,
      seal: (text: string) => Buffer.from(text).toString('hex'),
      open: (text: string) => Buffer.from(text, 'hex').toString(),
    };
    await once(call, () => Promise.resolve({ key: 'svc_secret' }), seal);
    const { fleet } = fixture;
    const stored = await fleet.tenants.transaction(call.caller, (tx) => repository.find(tx, call.request));
    expect(stored?.response).not.toContain('svc_secret');
    expect(await once(call, () => Promise.reject(new Error('not again')), seal)).toEqual({ key: 'svc_secret' });
  });

  it('erases a sealed response after its own time, and refuses the repeated request until the key expires', async () => {
    const call = fixture.request();
    const seal = { seconds: 60, seal: (text: string) => text, open: (text: string) => text };
    await once(call, () => Promise.resolve({ key: 'svc_secret' }), seal);
    await fixture.expireResponses();
    const again = jest.fn(() => Promise.resolve({ key: 'another' }));
    await expect(once(call, again, seal)).rejects.toBeInstanceOf(IdempotentResponseNotStored);
    await repository.eraseResponses(fixture.fleet.worker, 100);
    expect(await fixture.storedResponse(call.request)).toBeNull();
    await expect(once(call, again, seal)).rejects.toBeInstanceOf(IdempotentResponseNotStored);
    expect(again).not.toHaveBeenCalled();
  });

  it('finds the response of a request that was carried out, before its transaction', async () => {
    const call = fixture.request();
    const find = () =>
      runInContext({ requestId: 'r', idempotency: call.request }, () =>
        fixture.fleet.tenants.transaction(call.caller, (tx) => idempotency.findReplay(tx)),
      );
    expect([await find(), call.request.replayed]).toEqual([null, false]);
    await once(call, () => Promise.resolve({ id: 1 }));
    expect([await find(), call.request.replayed]).toEqual([{ response: { id: 1 } }, true]);
    call.request = { ...call.request, bodyHash: 'b' };
    await expect(find()).rejects.toBeInstanceOf(IdempotencyKeyReused);
    expect(await fixture.fleet.tenants.transaction(call.caller, (tx) => idempotency.findReplay(tx))).toBeNull();
  });

  it('marks a key whose response is too large, and refuses a caller with too many keys', async () => {
    const call = fixture.request();
    const large = 'x'.repeat(IDEMPOTENCY_LIMITS.responseBytes);
    expect(await once(call, () => Promise.resolve(large))).toBe(large);
    await expect(once(call, () => Promise.resolve())).rejects.toBeInstanceOf(IdempotentResponseNotStored);
    jest.spyOn(repository, 'usage').mockResolvedValueOnce({ responses: 3_000, bytes: 1, freeAfterSeconds: 9 });
    const next = { ...call, request: { ...call.request, id: randomUUID() } };
    const refused: unknown = await once(next, () => Promise.resolve()).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(TooManyIdempotencyKeys);
    expect(refused).toMatchObject({ retryAfterSeconds: 9 });
  });
});
