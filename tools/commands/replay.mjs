import { createRequire } from 'node:module';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { natsOptions } from '../fleet/nats-logins.mjs';
import { say } from '../fleet/reporter.mjs';
import { serviceNames } from '../fleet/services.mjs';
import { runningState } from '../fleet/state.mjs';
import { ROOT } from '../paths.mjs';
import { readOptions } from './options.mjs';

const TIMEOUT_MS = 60_000;

/** `fleet replay <service> [--consumer name]`: has a service handle its parked messages again, oldest first. */
export default async function replay(args) {
  const { values, positionals } = readOptions(args, { consumer: { type: 'string' } }, { allowPositionals: true });
  const [service] = positionals;
  if (!serviceNames.includes(service)) throw new Failure(`fleet replay wants a service: ${serviceNames.join(', ')}`);
  const summary = runningState()?.summary;
  if (!summary) throw new Failure('The fleet is not running. Start it with: fleet up');
  const reply = await ask(summary.natsAdminUrl, `rmm.operations.${service}.replay-parked`, values);
  if (reply.error) throw new Failure(`${service} could not replay: ${reply.error.error ?? reply.error.code}`);
  const { replayed, failed, left } = reply.value;
  say(`${service}: ${replayed} replayed, ${failed} failed again, ${left} still parked`);
  return failed ? 1 : 0;
}

async function ask(natsUrl, subject, request) {
  const nats = createRequire(path.join(ROOT, 'package.json'))('nats');
  const connection = await nats.connect(natsOptions(natsUrl));
  try {
    const payload = new TextEncoder().encode(JSON.stringify(request));
    return (await connection.request(subject, payload, { timeout: TIMEOUT_MS })).json();
  } catch (error) {
    if (error.code === nats.ErrorCode.NoResponders) throw new Failure('This service consumes no messages.');
    throw error;
  } finally {
    await connection.close();
  }
}
