import { connect } from 'nats';
import { natsOptions } from './connection/nats-options.js';
import { ensureStreams } from './streams/streams.js';

/**
 * `node libs/messaging/dist/setup-streams.js`: creates or updates the streams and durable consumers, which the logins
 * of the services may not.
 * Environment: NATS_ADMIN_URL, else NATS_URL; NATS_STREAM_REPLICAS (existing streams keep theirs, new ones get 1).
 */
async function setupStreams(env: NodeJS.ProcessEnv): Promise<void> {
  const url = env.NATS_ADMIN_URL ?? env.NATS_URL;
  if (!url) throw new Error('NATS_ADMIN_URL is not set');
  const connection = await connect({ ...natsOptions(url, 'setup-streams'), reconnect: false, timeout: 10_000 });
  try {
    const replicas = env.NATS_STREAM_REPLICAS;
    await ensureStreams(connection, { replicas: replicas === undefined ? undefined : Number(replicas) });
  } finally {
    await connection.close();
  }
}

setupStreams(process.env).then(
  () => console.log('The streams and durable consumers are set up.'),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
