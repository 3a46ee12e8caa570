import { timeOrderedId } from './time-ordered-id.js';

describe('timeOrderedId', () => {
  afterEach(() => jest.useRealTimers());

  it('returns different UUIDs of version 7', () => {
    const ids = Array.from({ length: 1_000 }, timeOrderedId);
    expect(new Set(ids).size).toBe(1_000);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('begins with the time, so that a later id is greater', () => {
    jest.useFakeTimers({ now: Date.parse('2022-02-22T19:22:22Z') }); // example of RFC 9562, appendix A.6
    const first = timeOrderedId();
    jest.setSystemTime(Date.now() + 1);
    expect(first.slice(0, 14)).toBe('017f22e2-79b0-');
    expect(timeOrderedId() > first).toBe(true);
  });
});
