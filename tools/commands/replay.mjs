import { Failure } from '../failure.mjs';
import { askService } from '../fleet/ask-service.mjs';
import { say } from '../fleet/reporter.mjs';
import { serviceNames } from '../fleet/services.mjs';
import { readOptions } from './options.mjs';

/** `fleet replay <service> [--consumer name]`: has a service handle its dead letters again, oldest first. */
export default async function replay(args) {
  const { values, positionals } = readOptions(args, { consumer: { type: 'string' } }, { allowPositionals: true });
  const [service] = positionals;
  if (!serviceNames.includes(service)) throw new Failure(`fleet replay wants a service: ${serviceNames.join(', ')}`);
  const reply = await askService(`rmm.operations.${service}.replay-dead-letters`, values);
  if (reply.error) throw new Failure(`${service} could not replay: ${reply.error.error ?? reply.error.code}`);
  const { replayed, failed, left } = reply.value;
  say(`${service}: ${replayed} replayed, ${failed} failed again, ${left} dead letters left`);
  return failed ? 1 : 0;
}
