import { currentContext, runInContext } from '@rmm/service-kit';
import { forwardedIdempotency, runForwarded } from './forwarded-idempotency.js';

const tenant = { scope: 'partner', partnerId: 'p', orgId: null, orgAccess: 'all', orgIds: [], userId: null } as const;
const idempotency = {
  id: 'i',
  callerId: 'principal:1',
  bodyHash: 'b',
  partnerId: 'p',
  orgId: null,
  replayed: false,
};

describe('a forwarded idempotency key', () => {
  it('is null without a key', async () => {
    expect(forwardedIdempotency()).toBeNull();
    const reply = await runForwarded(null, { tenant }, () => Promise.resolve(currentContext()?.idempotency));
    expect(reply).toEqual({ record: undefined, replayed: false });
  });

  it('is the same request at the owner, in the tenant of the acting caller', async () => {
    const forwarded = runInContext({ requestId: 'r', idempotency }, forwardedIdempotency);
    const reply = await runInContext({ requestId: 'owner' }, () =>
      runForwarded(forwarded, { tenant }, () => Promise.resolve({ ...currentContext() })),
    );
    expect(reply.record).toEqual({ requestId: 'owner', idempotency });
  });

  it('reports a stored response', async () => {
    const forwarded = runInContext({ requestId: 'r', idempotency }, forwardedIdempotency);
    const reply = await runForwarded(forwarded, { tenant }, () => {
      const request = currentContext()?.idempotency;
      if (request) request.replayed = true;
      return Promise.resolve('stored');
    });
    expect(reply).toEqual({ record: 'stored', replayed: true });
  });
});
