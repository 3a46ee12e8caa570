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
