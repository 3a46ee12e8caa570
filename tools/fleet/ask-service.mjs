import { createRequire } from 'node:module';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { ROOT } from '../paths.mjs';
import { natsOptions } from './nats-logins.mjs';
import { runningState } from './state.mjs';

/**
 * Asks a running service on an operator's behalf, over a subject that no service's own login may use.
 * @param {string} subject  `rmm.operations.<service>.<what>`
 * @param {object} request
 * @returns {Promise<{ value?: object, error?: { error?: string, code: string } }>}
 * @throws Failure  when the fleet is not running, or nobody answers
 */
export async function askService(subject, request, timeoutMs = 60_000) {
  const summary = runningState()?.summary;
  if (!summary) throw new Failure('The fleet is not running. Start it with: fleet up');
  const nats = createRequire(path.join(ROOT, 'package.json'))('nats');
  const connection = await nats.connect(natsOptions(summary.natsAdminUrl));
  try {
    const payload = new TextEncoder().encode(JSON.stringify(request));
    return (await connection.request(subject, payload, { timeout: timeoutMs })).json();
  } catch (error) {
    if (error.code === nats.ErrorCode.NoResponders) throw new Failure('No running service answers this.');
    throw error;
  } finally {
    await connection.close();
  }
}
