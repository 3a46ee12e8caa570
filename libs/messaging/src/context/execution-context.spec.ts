import { currentContext, runInContext } from '@rmm/service-kit';
import { currentConsumer, handleInContext, jobContext, runJob, withMessageContext } from './execution-context.js';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const envelope = {
  id: 'message-1',
  type: 'site.deleted',
  schemaVersion: 1,
  timestamp: '2026-01-01T00:00:00.000Z',
  partnerId: null,
  orgId: null,
  aggregateId: 'a',
  aggregateVersion: 0,
  correlationId: 'req-1',
  traceparent,
  data: {},
};
const contextOf = () => Promise.resolve({ ...currentContext(), consumer: currentConsumer() });

describe('context of a message', () => {
  it('is that of the call which caused it, with the consumer', async () => {
    const seen = await handleInContext(envelope, 'provisioning-internal', contextOf);
    expect(seen).toEqual({ requestId: 'req-1', traceparent, consumer: 'provisioning-internal' });
  });

  it('has the id of the message when its publisher named no call', async () => {
    const seen = await withMessageContext({ ...envelope, correlationId: undefined, traceparent: undefined }, contextOf);
    expect(seen).toEqual({ requestId: 'message-1', traceparent: undefined, consumer: undefined });
  });

  it('drops a malformed traceparent', async () => {
    const seen = await handleInContext({ ...envelope, traceparent: 'nonsense' }, 'c', contextOf);
    expect(seen.traceparent).toBeUndefined();
  });
});

describe('context of a job', () => {
  it('is the one stored in its data', async () => {
    const data = runInContext({ requestId: 'req-1', traceparent }, () => ({ deliveryId: 'd1', ...jobContext() }));
    expect(await runJob('send', data, contextOf)).toMatchObject({ requestId: 'req-1', traceparent });
  });

  it('has a new request id without one', async () => {
    expect((await runJob('send', {}, contextOf)).requestId).toMatch(/^[0-9a-f-]{36}$/);
  });
});
