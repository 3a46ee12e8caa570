import { SimulatedAgent } from './simulated-agent.js';
import { enrollAll, RequestCounts, sendHeartbeats } from './simulation.js';

export interface SimulationOptions {
  /** With the path of the API: `http://127.0.0.1:8080/api/v1`. */
  apiUrl: string;
  key: string;
  secret?: string;
  /** Keeps the names of several simulations apart. */
  series: string;
  count: number;
  /** The interval of the heartbeats of one agent. */
  intervalSeconds: number;
  /** Time of the heartbeats; without it the signal ends them. */
  seconds?: number;
  signal: AbortSignal;
  print: (line: string) => void;
}

const PROGRESS_MS = 10_000;

/** Enrolls agents and sends their reports and heartbeats until the signal ends it. @returns whether all requests succeeded */
export async function simulateAgents(options: SimulationOptions): Promise<boolean> {
  const { apiUrl, series, count, print } = options;
  const counts = new RequestCounts();
  const agents = Array.from({ length: count }, (_, number) => new SimulatedAgent({ apiUrl, series, number }));
  const { enrolled, missingReports } = await enrollAll(agents, counts, options);
  print(`${enrolled.length} of ${count} agents enrolled`);
  if (missingReports.size > 0) print(`reports that the fleet does not take: ${[...missingReports].sort().join(', ')}`);
  const progress = setInterval(() => print(describe(counts)), PROGRESS_MS);
  const time = options.seconds === undefined ? [] : [AbortSignal.timeout(options.seconds * 1_000)];
  try {
    await sendHeartbeats(enrolled, counts, { ...options, signal: AbortSignal.any([options.signal, ...time]) });
  } finally {
    clearInterval(progress);
  }
  print(describe(counts));
  return enrolled.length === count && counts.failures.size === 0;
}

function describe(counts: RequestCounts): string {
  const ms = (share: number) => `${counts.quantile(share).toFixed(0)} ms`;
  const failures = [...counts.failures].map(([name, times]) => `${times} x ${name}`);
  return [
    `${counts.durations.length} heartbeats, median ${ms(0.5)}, p99 ${ms(0.99)}`,
    `${counts.commands} commands, none executed`,
    failures.length > 0 ? `failures: ${failures.join(', ')}` : 'no failures',
  ].join('; ');
}
