import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { RequestRefused, type SimulatedAgent } from './simulated-agent.js';

export interface HeartbeatOptions {
  intervalSeconds: number;
  signal: AbortSignal;
}

/** Counts and durations of requests. */
export class RequestCounts {
  /** Milliseconds of each heartbeat that was accepted. */
  readonly durations: number[] = [];
  commands = 0;
  /** By status and code, or by the reason why no response came. */
  readonly failures = new Map<string, number>();

  countFailure(error: unknown): void {
    const name = error instanceof RequestRefused ? error.message : 'no response';
    this.failures.set(name, (this.failures.get(name) ?? 0) + 1);
  }

  /** Returns the duration in milliseconds that a share of the heartbeats did not exceed, 0 without heartbeats. */
  quantile(share: number): number {
    const sorted = this.durations.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  }
}

/**
 * Enrolls agents and sends their inventory and posture, some at a time, until all are done or the signal ends it.
 * @returns those that are enrolled
 */
export async function enrollAll(
  agents: readonly SimulatedAgent[],
  counts: RequestCounts,
  { key, secret, parallel = 8, signal }: { key: string; secret?: string; parallel?: number; signal: AbortSignal },
): Promise<{ enrolled: SimulatedAgent[]; missingReports: Set<string> }> {
  const enrolled: SimulatedAgent[] = [];
  const missingReports = new Set<string>();
  const waiting = agents.values();
  const enrollWaiting = async () => {
    for (const agent of waiting) {
      if (signal.aborted) return;
      try {
        await agent.enroll(key, secret);
        enrolled.push(agent);
        for (const name of await agent.sendReports()) missingReports.add(name);
      } catch (error) {
        counts.countFailure(error);
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, enrollWaiting));
  return { enrolled, missingReports };
}

/** Sends the heartbeats of agents, spread evenly over the interval, until the signal ends it. */
export async function sendHeartbeats(
  agents: readonly SimulatedAgent[],
  counts: RequestCounts,
  { intervalSeconds, signal }: HeartbeatOptions,
): Promise<void> {
  setMaxListeners(0, signal); // one for each agent that waits
  const intervalMs = intervalSeconds * 1_000;
  const beginsMs = performance.now();
  await Promise.all(
    agents.map(async (agent, at) => {
      let dueMs = beginsMs + (at / agents.length) * intervalMs;
      while (await waitUntil(dueMs, signal)) {
        if (!(await sendHeartbeat(agent, counts))) return;
        dueMs = Math.max(dueMs + intervalMs, performance.now());
      }
    }),
  );
}

/** @returns false when the agent ends: its device was decommissioned */
async function sendHeartbeat(agent: SimulatedAgent, counts: RequestCounts): Promise<boolean> {
  const sentMs = performance.now();
  try {
    counts.commands += (await agent.sendHeartbeat()).length;
    counts.durations.push(performance.now() - sentMs);
    return true;
  } catch (error) {
    counts.countFailure(error);
    return !(error instanceof RequestRefused && error.status === 401);
  }
}

/** @returns false when the signal ended the wait */
async function waitUntil(dueMs: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  return sleep(Math.max(0, dueMs - performance.now()), true, { signal }).catch(() => false);
}
