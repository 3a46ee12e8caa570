import { Failure } from '../failure.mjs';
import { say, step } from '../fleet/reporter.mjs';
import { serviceNames, usesOwnApps } from '../fleet/services.mjs';
import { runningState } from '../fleet/state.mjs';
import { buildServices } from '../prepare/build.mjs';
import { readOptions } from './options.mjs';

/** `fleet restart <service>`: builds what changed and starts the service again, replica by replica. */
export default async function restart(args) {
  const [service, ...more] = readOptions(args, {}, { allowPositionals: true }).positionals;
  if (!serviceNames.includes(service) || more.length)
    throw new Failure(`Restart which service? ${serviceNames.join(', ')}`);
  const state = runningState();
  if (!state?.control) throw new Failure('The fleet is not running. Start it with: fleet up');
  if (!usesOwnApps) await buildServices(step);
  const answer = await fetch(`${state.control.url}/restart?service=${service}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${state.control.token}` },
  });
  if (!answer.ok) throw new Failure((await answer.json()).error);
  say(`${service} was restarted`);
}
