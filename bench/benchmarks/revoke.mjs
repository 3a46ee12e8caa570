// ./fleet bench revoke: from the response of a revocation to the last request accepted with a revoked key, on any of
// three replicas that receive requests without pause.
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchServer } from '../support/bench-server.mjs';
import { benchStores, lib } from '../support/built-code.mjs';
import { createStreams } from '../support/identity-data.mjs';
import { isQuick } from '../support/options.mjs';
import { report, target } from '../support/report.mjs';
import { getRequest, openLines } from '../support/socket-load.mjs';

const TRIALS = isQuick ? 20 : 200;
const REFUSALS = 5; // in a row, at each replica: then the key is dead everywhere
const GIVE_UP_MS = 10_000;

const { FakeIdentity } = await lib('testing', 'fake-identity.js');
const { FakeOrganizations } = await lib('testing', 'fake-tenants.js');
const { stores, nats, env, envOf } = await benchStores('credentials', ['provisioning']);
const natsUrl = nats.adminUrl ?? nats.url;
await createStreams(natsUrl);
const identity = await FakeIdentity.start(natsUrl);
const organizations = new FakeOrganizations(identity.link);
const common = {
  PORT: '0',
  JWKS_URL: identity.jwksUrl,
  PUBLIC_API_URL: 'http://localhost:8080',
  PUBLIC_APP_URL: 'http://localhost:8080',
  RATE_LIMITS_ENABLED: 'false',
  TRUSTED_PROXY_CIDRS: '127.0.0.1/32',
};
const credentials = new BenchServer('credentials-service.mjs', { env: { ...env, ...common } });
const replicas = [1, 2, 3].map(
  () => new BenchServer('revocation-replica.mjs', { env: { ...envOf('provisioning'), ...common } }),
);
const servers = [credentials, ...replicas];

try {
  await Promise.all(servers.map((server) => server.ready()));
  const tenant = { partnerId: randomUUID(), orgId: randomUUID() };
  identity.addPartner({ partnerId: tenant.partnerId });
  organizations.add(tenant);
  const token = await identity.signIn({ scope: 'partner', partnerId: tenant.partnerId });
  const lines = (await Promise.all(replicas.map(({ port }) => openLines(port, 1)))).flat();
  await sleep(1_500); // both feeds were received
  const trials = [];
  for (let trial = 0; trial < TRIALS; trial++) trials.push(await revokeOne({ trial, token, lines, ...tenant }));
  for (const line of lines) line.socket.destroy();
  print(trials);
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  organizations.stop();
  await identity.stop();
  await stores.stop();
}

async function call(method, path, token, body) {
  const response = await fetch(`http://127.0.0.1:${credentials.port}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  const json = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(json)}`);
  return json;
}

/** @returns `lastMs` from the response of the revocation to the end of the last accepted request, at least 0 */
async function revokeOne({ trial, token, lines, orgId }) {
  const { id, key } = await call('POST', '/api-keys', token, {
    orgId,
    name: `Bench ${trial}`,
    scopes: ['devices:read'],
    rateLimit: 100_000,
  });
  // An address for each trial: refusals would otherwise fill the window of guesses.
  const address = `10.0.${trial >> 8}.${trial & 255}`;
  const request = getRequest('/api/v1/mcp/guarded', { 'x-api-key': key, 'x-forwarded-for': address });
  const seen = { lastMs: 0, acceptedLate: 0, accepted: new Set() };
  const asking = Promise.all(lines.map((line) => askUntilRefused(line, request, seen)));
  while (seen.accepted.size < lines.length) await Promise.race([asking.then(throwNeverAccepted), sleep(5)]);
  const sentAt = performance.now();
  await call('DELETE', `/api-keys/${id}`, token);
  const respondedAt = performance.now();
  await asking;
  return {
    lastMs: Math.max(0, seen.lastMs - respondedAt),
    callMs: respondedAt - sentAt,
    acceptedLate: seen.acceptedLate,
  };
}

/** Sends requests to one replica without pause; records in `seen` the last acceptance, and acceptances after a refusal. */
async function askUntilRefused(line, request, seen) {
  const startedAt = performance.now();
  let refusals = 0;
  while (refusals < REFUSALS) {
    const status = await line.ask(request);
    if (status === 200) {
      seen.lastMs = Math.max(seen.lastMs, performance.now());
      seen.accepted.add(line);
      if (refusals > 0) seen.acceptedLate += 1;
      refusals = 0;
    } else if (status === 401) refusals += 1;
    else throw new Error(`a replica responded to ${status}`);
    if (performance.now() - startedAt > GIVE_UP_MS) throw new Error('the revoked key still works');
    await sleep(1);
  }
}

function throwNeverAccepted() {
  throw new Error('the key was refused before it was revoked');
}

function print(trials) {
  const sorted = (name) => trials.map((trial) => trial[name]).sort((a, b) => a - b);
  const row = (arm, times) => ({
    arm,
    'p50 ms': times[Math.floor(times.length / 2)],
    'p99 ms': times[Math.floor(times.length * 0.99)],
    'max ms': times.at(-1),
  });
  const last = sorted('lastMs');
  const acceptedLate = trials.reduce((sum, trial) => sum + trial.acceptedLate, 0);
  report(
    {
      name: 'revoke',
      arms: [
        row('response of the revocation to the last accepted request', last),
        row('the revocation itself', sorted('callMs')),
      ],
      targets: [
        target('p99, ms', last[Math.floor(last.length * 0.99)], '<=', 1_000),
        target('requests accepted after a refusal', acceptedLate, '<=', 0),
      ],
      notes: [
        `${TRIALS} revocations, each seen by three replicas that are asked with the key every millisecond or two. A ` +
          'request counts as accepted until its response arrives; 0 ms means that none was accepted after the response of the revocation.',
      ],
    },
    process.argv,
  );
}
