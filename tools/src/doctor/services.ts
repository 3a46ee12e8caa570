import { checkClock } from './clock.js';
import type { Configurations } from './configuration.js';
import { reasonOf, type Report } from './finding.js';
import type { ServiceTarget } from './target.js';

const REPLY_MS = 5_000;
/** The header Date has whole seconds. */
const DATE_TOLERANCE_MS = 1_000;

/** Checks the readiness and clock of each instance whose address is known, that all run one build, and the edge. */
export async function checkServices(
  services: readonly ServiceTarget[],
  configurations: Configurations,
  report: Report,
) {
  const builds = new Map<string, string[]>();
  for (const { name, instances } of services) {
    for (const url of instances) {
      const build = await checkInstance(name, url, report);
      if (build) builds.set(build, [...(builds.get(build) ?? []), `${name} at ${url}`]);
    }
  }
  if (builds.size > 1) {
    const groups = [...builds].map(([build, names]) => `${build}: ${names.join(', ')}`).join('; ');
    report.problem('services', {
      what: `different versions run (${groups})`,
      why: 'only two successive releases may run next to each other, and only during an upgrade',
      action: 'complete the upgrade: docs/guides/upgrade.md',
    });
  }
  const known = services.flatMap(({ instances }) => instances).length;
  report.checked.push(known ? `${known} instances` : 'no instance (name them with --at service=address)');
  for (const url of new Set([...configurations.values()].map(({ publicApiUrl }) => publicApiUrl))) {
    await checkEdge(url, report);
  }
}

interface Readiness {
  state?: string;
  checks?: Record<string, 'up' | 'down'>;
}

/** @returns the version of the instance when it publishes one */
async function checkInstance(service: string, url: string, report: Report): Promise<string | null> {
  const notReady = (what: string, action: string) =>
    report.problem(service, { what: `${url} ${what}`, why: 'it gets no requests, or refuses them with 503', action });
  try {
    const from = Date.now();
    const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(REPLY_MS) });
    checkClock(`${service} at ${url}`, Date.parse(response.headers.get('date') ?? ''), from, report, DATE_TOLERANCE_MS);
    const { state = 'unknown', checks = {} } = (await response.json()) as Readiness;
    const down = Object.keys(checks).filter((name) => checks[name] === 'down');
    if (down.length)
      notReady(`is not ready: ${down.join(', ')} is down`, 'restore the dependency; the service recovers');
    else if (!response.ok) notReady(`is ${state}`, `see ./fleet logs ${service}`);
    return await readVersion(url);
  } catch (error) {
    notReady(`does not respond: ${reasonOf(error)}`, `see ./fleet logs ${service}; restart it`);
    return null;
  }
}

async function readVersion(url: string): Promise<string | null> {
  const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(REPLY_MS) });
  return /^rmm_build_info\{[^}]*version="([^"]*)"/m.exec(await response.text())?.[1] ?? null;
}

/** Asks for the configuration that clients read before they sign in: it needs no credential and passes edge and identity. */
async function checkEdge(publicApiUrl: string, report: Report): Promise<void> {
  const url = `${publicApiUrl}/api/v1/config`;
  const problem = await fetch(url, { signal: AbortSignal.timeout(REPLY_MS) }).then(
    async (response) => {
      const body = await response.text();
      if (!response.ok) return `responds ${response.status}`;
      return body.trimStart().startsWith('{') ? null : 'responds with something else than JSON';
    },
    (error: Error) => `does not respond: ${reasonOf(error.cause ?? error)}`,
  );
  report.checked.push(`edge ${publicApiUrl}`);
  if (!problem) return;
  report.problem('edge', {
    what: `${url} ${problem}`,
    why: 'clients and agents use this address',
    action: 'correct the edge, its routes (deploy/routes.json) or PUBLIC_API_URL',
  });
}
