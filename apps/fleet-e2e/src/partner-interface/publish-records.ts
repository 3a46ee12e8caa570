import { connect, headers } from 'nats';
import type { FleetHandle } from '@rmm/testing';
import { natsServerOf } from '../nats-server.js';

/** Publishes records as a service outside this repository does. */
export async function publishRecords(
  fleet: Pick<FleetHandle, 'natsUrl'>,
  records: readonly Record<string, unknown>[],
): Promise<void> {
  const connection = await connect(natsServerOf(fleet));
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
