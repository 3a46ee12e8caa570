import { connect } from 'nats';
import type { FleetHandle } from '@rmm/testing';
import { natsServerOf } from '../nats-server.js';

const STREAMS = ['RMM_EVENTS', 'RMM_INTERNAL', 'RMM_AUDIT'];

/** Makes the streams refuse messages while core NATS goes on. @returns a function that ends it */
export async function refuseStreamMessages(fleet: Pick<FleetHandle, 'natsUrl'>): Promise<() => Promise<void>> {
  const connection = await connect(natsServerOf(fleet));
  const manager = await connection.jetstreamManager();
  const before = await Promise.all(STREAMS.map((name) => manager.streams.info(name)));
  for (const { config, state } of before) {
    await manager.streams.update(config.name, {
      ...config,
      discard: 'new' as never,
      max_msgs: Math.max(1, state.messages),
    });
  }
  return async () => {
    for (const { config } of before) await manager.streams.update(config.name, config);
    await connection.close();
  };
}
