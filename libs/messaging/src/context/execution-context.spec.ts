import { currentContext, runInContext } from '@rmm/service-kit';
import { childTraceparent, jobContext, parseTraceparent, runJob } from '../index.js';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('trace context', () => {
  it('keeps the trace id and creates a child span', () => {
    const child = parseTraceparent(childTraceparent(traceparent));
    expect(child).toMatchObject({ traceId: '0af7651916cd43dd8448eb211c80319c', sampled: true });
    expect(child?.parentId).not.toBe('b7ad6b7169203331');
  });

  it('starts a new trace when there is none or it is malformed', () => {
    expect(parseTraceparent(childTraceparent('nonsense'))).toMatchObject({ sampled: false });
    expect(parseTraceparent(`00-${'0'.repeat(32)}-b7ad6b7169203331-01`)).toBeNull();
  });
});

describe('job context', () => {
  it('runs a job in the context stored in its data', () => {
    const data = runInContext({ requestId: 'req-1', traceparent }, () => ({ deliveryId: 'd1', ...jobContext() }));
    const seen = runJob(data, () => currentContext());
    expect(seen?.requestId).toBe('req-1');
    expect(parseTraceparent(seen?.traceparent)?.traceId).toBe('0af7651916cd43dd8448eb211c80319c');
  });

  it('gives a job without a context a new request id', () => {
    expect(runJob({}, () => currentContext())?.requestId).toMatch(/^[0-9a-f-]{36}$/);
  });
});
