import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { currentContext, runInContext } from './request-context.js';
import { RequestDeadline } from './request-deadline.js';
import { withoutDeadline } from './without-deadline.js';

describe('withoutDeadline', () => {
  let hasEnded: boolean;

  async function* contexts() {
    hasEnded = false;
    try {
      for (;;) {
        await yieldToEventLoop();
        yield currentContext();
      }
    } finally {
      hasEnded = true;
    }
  }

  it('iterates in the context of the request but for its deadline', async () => {
    const deadline = new RequestDeadline(1);
    const found: unknown[] = [];
    await runInContext({ requestId: 'r-1', ipAddress: '192.0.2.1', deadline }, async () => {
      for await (const context of withoutDeadline(contexts())) {
        found.push(context);
        if (found.length === 2) break;
      }
      expect(currentContext()?.deadline).toBe(deadline);
    });
    const expected = { requestId: 'r-1', ipAddress: '192.0.2.1', deadline: undefined };
    expect(found).toEqual([expected, expected]);
    expect(hasEnded).toBe(true);
  });

  it('iterates without a context, too, and passes an error on', async () => {
    const items = withoutDeadline(contexts());
    expect(await items.next()).toEqual({ done: false, value: undefined });
    await expect(items.throw(new Error('the client has gone'))).rejects.toThrow('the client has gone');
    expect(hasEnded).toBe(true);
  });
});
