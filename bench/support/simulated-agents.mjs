// 10,000 simulated agents that send their heartbeats to a provisioning service over HTTP.
import Redis from 'ioredis';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { BenchServer } from './bench-server.mjs';
import { lib } from './built-code.mjs';
import { createStreams } from './identity-data.mjs';
import { storesCpu } from './stores-cpu.mjs';

const AGENTS = 10_000;
const INTERVAL_SECONDS = 60;
/** This process needs a second to start its agents, which the first requests wait for. */
const WARM_UP_SECONDS = 5;
const SIMULATOR = path.resolve(import.meta.dirname, '../../tools/agent-simulator/dist/index.js');

const INSERT = `
  WITH devices AS (
    INSERT INTO device (partner_id, org_id, agent_id, agent_token_hash, hostname, os_type, os_version, enrolled_at)
    SELECT $1, $2, a.*, now() FROM unnest($3::uuid[], $4::bytea[], $5::text[], $6::text[], $7::text[]) AS a RETURNING id)
  INSERT INTO device_state (device_id, partner_id, org_id, status, agent_version, last_seen_at, offline_check_at)
  SELECT id, $1, $2, 'online', $8, now(), now() + interval '1 hour' FROM devices`;

/**
 * Measures heartbeats over HTTP: each agent sends one a minute, so that its token is read from the database each time.
 * @returns {{ perSecond: number, p50: number, p99: number, failures: object, walEach: number, cpu: object }} durations in
 *   ms; failures by status and code; `cpu` are shares of one core
 */
export async function measureOverHttp({ admin, env, nats, stores, seconds }) {
  const { RequestCounts, sendHeartbeats, SimulatedAgent } = await import(pathToFileURL(SIMULATOR));
  const { FakeIdentity } = await lib('testing', 'fake-identity.js');
  const natsUrl = nats.adminUrl ?? nats.url;
  await createStreams(natsUrl);
  const identity = await FakeIdentity.start(natsUrl);
  const redis = new Redis(stores.redisUrl);
  const more = { PORT: '0', JWKS_URL: identity.jwksUrl, ENROLLMENT_KEY_PEPPER: 'pepper of the benchmark' };
  const server = new BenchServer('provisioning-service.mjs', { env: { ...env, ...more } });
  try {
    const { port } = await server.ready();
    const agents = await insertAgents(admin, SimulatedAgent, `http://127.0.0.1:${port}/api/v1`);
    const usage = async () => ({
      service: await server.cpuMicros(),
      ...(await storesCpu(redis, admin)),
      wal: (await admin.query(`SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`)).rows[0]
        .bytes,
    });
    const counts = new RequestCounts();
    const signal = AbortSignal.timeout((WARM_UP_SECONDS + seconds) * 1_000);
    const sending = sendHeartbeats(agents, counts, { intervalSeconds: INTERVAL_SECONDS, signal });
    await sleep(WARM_UP_SECONDS * 1_000);
    counts.durations.length = 0;
    const before = await usage();
    await sending;
    const after = await usage();
    const share = (name) => (after[name] - before[name]) / (seconds * 1e6);
    return {
      perSecond: counts.durations.length / seconds,
      p50: counts.quantile(0.5),
      p99: counts.quantile(0.99),
      failures: Object.fromEntries(counts.failures),
      walEach: (after.wal - before.wal) / counts.durations.length,
      cpu: { service: share('service'), postgres: share('postgres'), redis: share('redis') },
    };
  } finally {
    redis.disconnect();
    await server.stop();
    await identity.stop();
  }
}

async function insertAgents(admin, SimulatedAgent, apiUrl) {
  const { mintAgentToken } = await lib('secrets');
  const partnerId = randomUUID();
  const { rows } = await admin.query(
    `INSERT INTO organization (partner_id, name, name_key, slug) VALUES ($1, 'Agents', 'agents', 'agents') RETURNING id`,
    [partnerId],
  );
  const enrolled = Array.from({ length: AGENTS }, (_, number) => {
    const { key: authToken, keyHash } = mintAgentToken();
    const identity = { agentId: randomUUID(), authToken };
    return { identity, keyHash, agent: new SimulatedAgent({ apiUrl, series: 'bench', number, identity }) };
  });
  const devices = enrolled.map(({ agent }) => agent.device);
  await admin.query(INSERT, [
    partnerId,
    rows[0].id,
    enrolled.map(({ identity }) => identity.agentId),
    enrolled.map(({ keyHash }) => keyHash),
    devices.map(({ hostname }) => hostname),
    devices.map(({ osType }) => osType),
    devices.map(({ osVersion }) => osVersion),
    devices[0].agentVersion,
  ]);
  await admin.query('VACUUM ANALYZE device, device_state');
  return enrolled.map(({ agent }) => agent);
}
