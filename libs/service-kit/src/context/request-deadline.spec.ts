import { RequestExpired } from './request-deadline.errors.js';
import { RequestDeadline } from './request-deadline.js';

describe('RequestDeadline', () => {
  it('refuses commits once it has expired', () => {
    const deadline = new RequestDeadline(60_000);
    expect(() => deadline.assertOpen()).not.toThrow();
    expect(deadline.expire()).toBe(true);
    expect(() => deadline.assertOpen()).toThrow(RequestExpired);
    expect(() => deadline.startCommit()).toThrow(RequestExpired);
  });

  it('refuses commits after its time although nothing has called expire', () => {
    expect(() => new RequestDeadline(0).startCommit()).toThrow(RequestExpired);
  });

  it('does not expire once a commit was sent', () => {
    const deadline = new RequestDeadline(60_000);
    deadline.startCommit();
    expect(deadline.expire()).toBe(false);
    expect(() => deadline.startCommit()).not.toThrow();
  });

  it('counts the time that is left down to 1 ms', () => {
    expect(new RequestDeadline(5_000).remainingMs).toBeGreaterThan(4_000);
    expect(new RequestDeadline(-5).remainingMs).toBe(1);
  });
});
