export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Calls `attempt` until it returns something truthy.
 * @returns that value, or null when the time is up
 */
export async function poll(attempt, { timeoutMs, everyMs = 20 }) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await attempt();
    if (value) return value;
    if (Date.now() >= deadline) return null;
    await sleep(everyMs);
  }
}

/** Like Promise.all, but waits for the others before it rejects, so that nothing starts after the clean-up. */
export async function allOrFirstError(promises) {
  const results = await Promise.allSettled(promises);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return results.map((result) => result.value);
}
