import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import type { Configurations } from './configuration.js';
import { reasonOf, type Report } from './finding.js';

const DAY_MS = 86_400_000;
const WARN_DAYS = 14;
const TIMEOUT_MS = 5_000;
/** The message with which a client of PostgreSQL asks for TLS; the server responds with one byte. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

type Preamble = 'none' | 'postgres' | 'nats';

interface Endpoint {
  label: string;
  host: string;
  port: number;
  preamble: Preamble;
}

/** Checks expiry and trust of the certificates at every address that is used over TLS. */
export async function checkCertificates(configurations: Configurations, report: Report): Promise<void> {
  const endpoints = new Map<string, Endpoint>();
  for (const config of configurations.values()) {
    const urls = {
      PUBLIC_API_URL: config.publicApiUrl,
      PUBLIC_APP_URL: config.publicAppUrl,
      DATABASE_URL: config.databaseUrl,
      REDIS_URL: config.redisUrl,
    };
    const named = [
      ...Object.entries(urls),
      ...config.natsUrl.split(',').map((url) => ['NATS_URL', url.trim()] as const),
    ];
    for (const [label, url] of named) {
      const endpoint = URL.canParse(url) ? endpointOf(label, new URL(url)) : null;
      if (endpoint) endpoints.set(`${endpoint.host}:${endpoint.port}`, endpoint);
    }
  }
  for (const endpoint of endpoints.values()) await checkEndpoint(endpoint, report);
  report.checked.push(`${endpoints.size} certificates`);
}

/** Returns where a certificate is presented; null for an address that is used without TLS. */
function endpointOf(label: string, url: URL): Endpoint | null {
  const at = (port: number, preamble: Preamble): Endpoint => {
    return { label, host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) || port, preamble };
  };
  const sslMode = url.searchParams.get('sslmode') ?? 'disable';
  switch (url.protocol) {
    case 'https:':
      return at(443, 'none');
    case 'rediss:':
      return at(6379, 'none');
    case 'tls:':
      return at(4222, 'nats');
    case 'postgres:':
    case 'postgresql:':
      return ['disable', 'allow', 'prefer'].includes(sslMode) ? null : at(5432, 'postgres');
    default:
      return null;
  }
}

async function checkEndpoint(endpoint: Endpoint, report: Report): Promise<void> {
  const subject = `${endpoint.label} ${endpoint.host}:${endpoint.port}`;
  const refused = 'clients that check it refuse the connection';
  try {
    const { expiresAt, distrust } = await readCertificate(endpoint);
    const days = Math.floor((expiresAt - Date.now()) / DAY_MS);
    const action = 'renew the certificate, and correct what should have renewed it';
    const date = new Date(expiresAt).toISOString().slice(0, 10);
    if (days < 0) report.problem(subject, { what: `its certificate expired on ${date}`, why: refused, action });
    else if (days < WARN_DAYS) {
      report.problem(subject, { what: `its certificate expires on ${date}`, why: `from then on ${refused}`, action });
    }
    if (!distrust || days < 0) return;
    report.problem(subject, {
      what: `its certificate is not trusted: ${distrust}`,
      why: refused,
      action: 'serve the whole chain for this name, or name your authority in NODE_EXTRA_CA_CERTS',
    });
  } catch (error) {
    report.problem(subject, {
      what: `TLS fails: ${reasonOf(error)}`,
      why: 'the address names TLS',
      action: 'enable TLS there, or correct the address',
    });
  }
}

async function readCertificate({ host, port, preamble }: Endpoint) {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const plain = net.connect({ host, port });
  try {
    await once(plain, 'connect', { signal });
    if (preamble === 'postgres') plain.write(SSL_REQUEST);
    if (preamble !== 'none') {
      const [first] = (await once(plain, 'data', { signal })) as [Buffer];
      if (preamble === 'postgres' && first.toString() !== 'S') throw new Error('the server offers no TLS');
    }
    const servername = net.isIP(host) ? undefined : host;
    // An invalid certificate must be read as well; nothing is sent over this connection.
    const secure = tls.connect({ socket: plain, servername, host, rejectUnauthorized: false });
    await once(secure, 'secureConnect', { signal });
    const expiresAt = Date.parse(secure.getPeerCertificate().valid_to);
    const { authorized, authorizationError: error } = secure;
    return { expiresAt, distrust: authorized ? null : String((error as Error | null)?.message ?? error) };
  } finally {
    plain.destroy();
  }
}
