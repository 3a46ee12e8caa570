import { bold, dim, green, red } from '../fleet/reporter.mjs';
import { readState, runningState } from '../fleet/state.mjs';
import { isReady } from '../fleet/health.mjs';
import { isAlive } from '../processes/identity.mjs';
import { readOptions } from './options.mjs';

/** `fleet status [--json]`: exit code 0 when every service is ready, 3 when not running or not all of it. */
export default async function status(args) {
  const { values } = readOptions(args, { json: { type: 'boolean', default: false } });
  const report = await describeFleet();
  console.log(values.json ? JSON.stringify(report, null, 2) : textOf(report));
  return report.state === 'ready' ? 0 : 3;
}

async function describeFleet() {
  const state = runningState();
  if (!state) return { state: 'stopped', services: [], leftOvers: (readState().records ?? []).filter(isAlive).length };
  const services = await Promise.all((state.services ?? []).map(withReadiness));
  const isAllReady = state.phase === 'ready' && services.every((service) => service.state === 'ready');
  const { summary = {} } = state;
  return {
    state: isAllReady ? 'ready' : state.phase === 'ready' ? 'degraded' : state.phase,
    pid: state.launcher.pid,
    ...summary,
    stores: privateStores(state.records ?? []),
    services,
  };
}

/** The stores that are this fleet's own, with the process that may be killed to see what happens. */
const privateStores = (records) =>
  records.flatMap(({ name, pid }) => (/^store:/.test(name) ? [{ name: name.slice('store:'.length), pid }] : []));

/** A service that runs but has lost a dependency says so itself. */
async function withReadiness(service) {
  const instances = await Promise.all(
    service.instances.map(async (instance) => {
      const cutOff = instance.state === 'ready' && !(await isReady(instance.port));
      return { ...instance, state: cutOff ? 'not-ready' : instance.state };
    }),
  );
  const state = instances.find((instance) => instance.state !== 'ready')?.state ?? 'ready';
  return { ...service, state, pid: instances[0].pid, port: instances[0].port, instances };
}

function textOf({ state, baseUrl, docsUrl, mailboxUrl, admin, services, leftOvers }) {
  if (state === 'stopped') {
    return leftOvers
      ? 'The fleet is not running; a killed run left processes. Stop them with: fleet down'
      : 'The fleet is not running. Start it with: fleet up';
  }
  const lines = services.flatMap(({ name, instances }) =>
    instances.map((instance, i) => {
      const light = instance.state === 'ready' ? green('●') : red('●');
      return `  ${light} ${(i ? '' : name).padEnd(20)} ${instance.state.padEnd(10)} ${dim(`pid ${instance.pid}  port ${instance.port}`)}`;
    }),
  );
  const links = baseUrl
    ? [
        '',
        `  API ${bold(baseUrl)}   docs ${docsUrl}   mailbox ${mailboxUrl}`,
        `  admin ${admin.email}   ${admin.password}`,
      ]
    : [];
  return [`The fleet is ${bold(state)}`, ...lines, ...links].join('\n');
}
