import { FleetError } from '../errors.js';
import { withNats } from '../stores/clients.js';
import { getRunningFleet } from './state.js';

/**
 * Sends an operator's request to a running service, on a subject that the login of a service may not use.
 * @throws FleetError when the fleet is not running, no instance replies, or the service reports an error
 */
export async function askService<T>(subject: string, request: object, timeout: number): Promise<T> {
  const { natsAdminUrl } = getRunningFleet().summary;
  const reply = await withNats(natsAdminUrl, (connection) =>
    connection.request(subject, JSON.stringify(request), { timeout }).catch((error: Error) => {
      throw new FleetError(`The service did not reply: ${error.message}`);
    }),
  );
  const { value, error } = reply.json<{ value?: T; error?: { error?: string; code: string } }>();
  if (value === undefined) throw new FleetError(`The service refused: ${error?.error ?? error?.code}`);
  return value;
}
