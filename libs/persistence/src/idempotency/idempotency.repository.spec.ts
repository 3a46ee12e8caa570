import { randomUUID } from 'node:crypto';
import { type IdempotencyFixture, startIdempotency } from '../../test/idempotency.js';
import { IdempotencyRepository } from './idempotency.repository.js';

describe('IdempotencyRepository', () => {
  let fixture: IdempotencyFixture;
  const repository = new IdempotencyRepository();

  beforeAll(async () => {
    fixture = await startIdempotency();
  });
  afterAll(() => fixture.stop());

  it('finds a response until it expires, and replaces an expired one', async () => {
    const { fleet, caller, request } = fixture.request();
    const find = () => fleet.tenants.transaction(caller, (tx) => repository.find(tx, request));
    const save = (response: string) =>
      fleet.tenants.transaction(caller, (tx) => repository.save(tx, request, { response, ttlSeconds: 60 }));
    expect(await find()).toBeNull();
    await save('first');
    expect(await find()).toEqual({ bodyHash: request.bodyHash, response: 'first' });
    await fixture.expireAll();
    expect(await find()).toBeNull();
    await save('second');
    expect(await find()).toMatchObject({ response: 'second' });
  });

  it('locks a key for one transaction', async () => {
    const { fleet, caller, request } = fixture.request();
    const tryLock = () => fleet.tenants.transaction(caller, (tx) => repository.tryLock(tx, request));
    await fleet.worker.transaction(async (tx) => {
      expect(await repository.tryLock(tx, request)).toBe(true);
      expect(await tryLock()).toBe(false);
    });
    expect(await tryLock()).toBe(true);
  });

  it('measures the responses of the caller that have not expired', async () => {
    const { fleet, caller, request } = fixture.request();
    const usage = () => fleet.tenants.transaction(caller, (tx) => repository.usage(tx, request));
    expect(await usage()).toEqual({ responses: 0, bytes: 0, freeAfterSeconds: 1 });
    await fleet.tenants.transaction(caller, async (tx) => {
      for (const response of ['1234', null]) {
        await repository.save(tx, { ...request, id: randomUUID() }, { response, ttlSeconds: 60 });
      }
    });
    const found = await usage();
    expect(found).toMatchObject({ responses: 2, bytes: 4 });
    expect(found.freeAfterSeconds).toBeGreaterThan(50);
    expect(found.freeAfterSeconds).toBeLessThanOrEqual(60);
    await fixture.expireAll();
    expect(await usage()).toMatchObject({ responses: 0, bytes: 0 });
  });

  it('shows a response to its own tenant only', async () => {
    const { fleet, caller, request } = fixture.request();
    await fleet.tenants.transaction(caller, (tx) => repository.save(tx, request, { response: 'a', ttlSeconds: 60 }));
    const other = fixture.request().caller;
    expect(await fleet.tenants.transaction(other, (tx) => repository.find(tx, request))).toBeNull();
  });

  it('purges expired responses up to the limit and keeps the others', async () => {
    await fixture.expireAll();
    await repository.purge(fixture.fleet.worker, 1_000);
    const { fleet, caller, request } = fixture.request();
    const save = () =>
      fleet.tenants.transaction(caller, (tx) =>
        repository.save(tx, { ...request, id: randomUUID() }, { response: 'a', ttlSeconds: 60 }),
      );
    for (let i = 0; i < 3; i++) await save();
    await fixture.expireAll();
    await save();
    expect(await repository.purge(fleet.worker, 2)).toBe(2);
    expect(await repository.purge(fleet.worker, 2)).toBe(1);
    expect(await repository.purge(fleet.worker, 2)).toBe(0);
  });
});
