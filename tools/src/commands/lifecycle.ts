import fs from 'node:fs';
import readline from 'node:readline/promises';
import { bold, dim, FleetError, green, red, say } from '../console.js';
import { type InstanceStatus, isReady, summarizeService } from '../fleet/service-instances.js';
import { assertServiceName, hasReplacedApps, type ServiceName } from '../fleet/services.js';
import { type FleetState, getRunningFleet, lockOwner, readState, stopOrphans } from '../fleet/state.js';
import { FLEET_DIR } from '../paths.js';
import { isAlive, stopProcess } from '../processes/process-record.js';
import { build, poll } from '../processes/run.js';

/** Stops the fleet of this data folder, and the processes of a launcher that was killed. */
export async function down(): Promise<void> {
  const owner = lockOwner();
  const wasRunning = isAlive(owner);
  if (owner && wasRunning) {
    say('stopping');
    await stopProcess({ ...owner, name: 'launcher', signal: 'SIGTERM' }, 60_000);
  }
  const hadOrphans = await stopOrphans();
  say(wasRunning || hadOrphans ? 'stopped' : 'the fleet is not running');
}

/** Compiles what changed and restarts a service, replica by replica. */
export async function restart(service: string): Promise<void> {
  assertServiceName(service);
  getRunningFleet();
  if (!hasReplacedApps) await build();
  say(`restarting ${service}`);
  await restartService(service);
  say(`${service} is ready`);
}

/** Stops one instance after the other; the launcher starts each again. @throws FleetError when one does not start */
export async function restartService(service: ServiceName): Promise<void> {
  const instancesOf = () => getRunningFleet().services.find(({ name }) => name === service)?.instances ?? [];
  for (const [i, { pid }] of instancesOf().entries()) {
    if (pid) process.kill(pid, 'SIGTERM');
    const isRestarted = () => {
      const now = instancesOf()[i];
      return now?.pid !== pid && now?.state === 'ready';
    };
    if (!(await poll(isRestarted, { timeoutMs: 120_000, everyMs: 100 }))) {
      throw new FleetError(`${service} did not start. See: ./fleet logs ${service}`);
    }
  }
}

/** Removes all data of the fleet, after a question. Also works when files of the data folder are damaged. */
export async function reset({ yes }: { yes?: boolean }): Promise<number> {
  if (isAlive(unlessDamaged(lockOwner))) throw new FleetError('The fleet is running. Stop it first with: ./fleet down');
  if (!yes && !(await isConfirmed())) return 1;
  const servers = unlessDamaged(readState)?.externalStores ?? [];
  if (servers.length) say(`remove database rmm_fleet, keys rmm:* and streams RMM_* on ${servers.join(', ')} yourself`);
  fs.rmSync(FLEET_DIR, { recursive: true, force: true });
  say('all data of the fleet is removed');
  return 0;
}

function unlessDamaged<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof FleetError) return null;
    throw error;
  }
}

async function isConfirmed(): Promise<boolean> {
  const { stdin: input, stdout: output } = process;
  if (!input.isTTY) throw new FleetError('This removes all data of the fleet. Confirm with: ./fleet reset --yes');
  const prompt = readline.createInterface({ input, output });
  const reply = await prompt.question('Remove all data of the fleet? [y/N] ');
  prompt.close();
  return /^y(es)?$/i.test(reply.trim());
}

/** Prints what runs and where. @returns 0 when every service is ready, else 3 */
export async function status({ json }: { json?: boolean }): Promise<number> {
  const state = readState();
  const isRunning = isAlive(state.launcher);
  const services = await Promise.all(
    (isRunning ? state.services : []).map(async ({ name, instances }) =>
      summarizeService(name, await Promise.all(instances.map(withReadiness))),
    ),
  );
  const isReadyFleet = state.phase === 'ready' && services.every((service) => service.state === 'ready');
  const phase = state.phase === 'ready' && !isReadyFleet ? 'degraded' : state.phase;
  const stores = state.records.filter(({ name }) => name.startsWith('store:'));
  const report = isRunning && {
    state: phase,
    pid: state.launcher?.pid,
    ...state.summary,
    stores: stores.map(({ name, pid }) => ({ name: name.slice('store:'.length), pid })),
    services,
  };
  if (json) console.log(JSON.stringify(report || { state: 'stopped', services: [] }, null, 2));
  else if (report) console.log(textOf({ ...state, services }, phase));
  else if (state.records.some(isAlive)) console.log('A killed launcher left processes. Stop them with: ./fleet down');
  else console.log('The fleet is not running. Start it with: ./fleet up');
  return report && isReadyFleet ? 0 : 3;
}

/** Asks an instance: one that runs but has lost a dependency reports that itself. */
async function withReadiness(instance: InstanceStatus): Promise<InstanceStatus> {
  const isUnready = instance.state === 'ready' && !(await isReady(instance.port));
  return isUnready ? { ...instance, state: 'not-ready' } : instance;
}

function textOf({ services, summary }: FleetState, phase: string): string {
  const lines = services.flatMap(({ name, instances }) =>
    instances.map(({ state, pid, port }, i) => {
      const light = state === 'ready' ? green('●') : red('●');
      return `  ${light} ${(i ? '' : name).padEnd(20)} ${state.padEnd(10)} ${dim(`pid ${pid}  port ${port}`)}`;
    }),
  );
  if (summary) {
    const { baseUrl, docsUrl, mailboxUrl, admin } = summary;
    lines.push('', `  API ${bold(baseUrl)}   docs ${docsUrl}   mailbox ${mailboxUrl}`);
    lines.push(`  admin ${admin.email}   ${admin.password}`);
  }
  return [`The fleet is ${bold(phase)}`, ...lines].join('\n');
}
