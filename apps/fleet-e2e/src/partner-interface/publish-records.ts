import { connect, headers } from 'nats';
import type { FleetHandle } from '@rmm/testing';

/** Publishes records as a service outside this repository does. */
export async function publishRecords(
  { natsUrl }: Pick<FleetHandle, 'natsUrl'>,
  records: readonly Record<string, unknown>[],
): Promise<void> {
  const { host, username, password } = new URL(natsUrl);
  const connection = await connect({ servers: host, user: username, pass: password });
  try {
    for (const record of records) {
      const sent = headers();
      sent.set('Nats-Msg-Id', String(record['messageId']));
      const subject = `rmm.records.${String(record['resource'])}.upsert`;
      await connection.jetstream().publish(subject, JSON.stringify(record), { headers: sent });
    }
  } finally {
    await connection.close();
  }
}
