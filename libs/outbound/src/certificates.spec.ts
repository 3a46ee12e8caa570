import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Authority, daysFromNow, type Identity, selfSigned } from '../test/certificates.js';
import { Receivers } from '../test/receivers.js';
import { OutboundFailed } from './outbound.errors.js';
import { Outbound } from './outbound.service.js';

const PROJECT = path.join(__dirname, '..');
const HOST = 'hooks.example.com';
const LITERAL = { host: '127.0.0.1', type: 'ip' } as const;

interface Case {
  shows: string;
  /** Host of the URL; the certificate may be for another. */
  host?: string;
  identity: (trusted: Authority, unknown: Authority) => Promise<Identity>;
  /** A status, or the code of the failure: then not a byte of ours has reached the receiver. */
  outcome: number | string;
}

const CASES: Case[] = [
  { shows: 'a good one', identity: (ca) => ca.issue({ host: HOST }), outcome: 204 },
  { shows: 'a good one for an address', host: '127.0.0.1', identity: (ca) => ca.issue(LITERAL), outcome: 204 },
  {
    shows: 'a good one for all names below its domain',
    identity: (ca) => ca.issue({ host: '*.example.com' }),
    outcome: 204,
  },
  {
    shows: 'a self-signed one',
    identity: () => selfSigned({ host: HOST }),
    outcome: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  },
  {
    shows: 'one of an untrusted authority',
    identity: (_ca, unknown) => unknown.issue({ host: HOST }),
    outcome: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  },
  {
    shows: 'an expired one',
    identity: (ca) => ca.issue({ host: HOST, notAfter: daysFromNow(-1) }),
    outcome: 'CERT_HAS_EXPIRED',
  },
  {
    shows: 'one that is not valid yet',
    identity: (ca) => ca.issue({ host: HOST, notBefore: daysFromNow(1) }),
    outcome: 'CERT_NOT_YET_VALID',
  },
  {
    shows: 'one for another host',
    identity: (ca) => ca.issue({ host: 'hooks.example.org' }),
    outcome: 'ERR_TLS_CERT_ALTNAME_INVALID',
  },
  {
    shows: 'one for the names below it',
    identity: (ca) => ca.issue({ host: `*.${HOST}` }),
    outcome: 'ERR_TLS_CERT_ALTNAME_INVALID',
  },
  {
    shows: 'one for a name where the URL has an address',
    host: '127.0.0.1',
    identity: (ca) => ca.issue({ host: HOST }),
    outcome: 'ERR_TLS_CERT_ALTNAME_INVALID',
  },
  {
    shows: 'one for an address where the URL has a name',
    identity: (ca) => ca.issue(LITERAL),
    outcome: 'ERR_TLS_CERT_ALTNAME_INVALID',
  },
  {
    shows: 'one for clients',
    identity: (ca) => ca.issue({ host: HOST, isForClients: true }),
    outcome: 'INVALID_PURPOSE',
  },
];

/**
 * The receivers are ours, the sender is the built code in a process of its own: Node reads whom to trust at its start.
 * Verification stays on even when the environment turns it off.
 */
describe('a receiver with', () => {
  const receivers = new Receivers();
  const folder = mkdtempSync(path.join(tmpdir(), 'outbound-'));
  const received: string[] = [];
  let connections = 0;
  let authority: Authority;
  let outcomes: string[] = [];

  /** Writes down, under the row of the case, every byte that came through TLS. */
  const listen = async (identity: Identity, row: number, { keepAlive = false } = {}) => {
    received[row] = '';
    connections = 0;
    return receivers.tls(identity, (socket) => {
      connections += 1;
      socket.on('data', (chunk) => {
        received[row] += chunk.toString();
        if (!received[row].endsWith('a secret')) return;
        if (keepAlive) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
        else socket.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n');
      });
    });
  };

  /** Posts to the URLs from a process that trusts the authority. @returns what came of each */
  const send = async (urls: string[], env: NodeJS.ProcessEnv = {}) => {
    const trustedFile = path.join(folder, 'authority.pem');
    writeFileSync(trustedFile, authority.cert);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [path.join(PROJECT, 'test', 'sender-child.mjs'), ...urls],
      { env: { ...process.env, NODE_EXTRA_CA_CERTS: trustedFile, NODE_TLS_REJECT_UNAUTHORIZED: '0', ...env } },
    );
    return JSON.parse(stdout) as string[];
  };

  beforeAll(async () => {
    const tsc = require.resolve('typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-b', path.join(PROJECT, 'tsconfig.lib.json')], { stdio: 'inherit' });
    const unknown = await Authority.create('Theirs');
    authority = await Authority.create('Ours');
    const urls: string[] = [];
    for (const [row, { host = HOST, identity }] of CASES.entries()) {
      urls.push(`https://${host}:${await listen(await identity(authority, unknown), row)}/hook`);
    }
    outcomes = await send(urls);
    await receivers.drain();
  }, 120_000);

  afterAll(() => {
    receivers.stop();
    rmSync(folder, { recursive: true });
  });

  it.each(CASES.map(({ shows, outcome }, row) => [shows, outcome, row] as const))(
    '%s makes the attempt end with %s',
    (_shows, outcome, row) => {
      if (typeof outcome === 'number') {
        expect(outcomes[row]).toBe(String(outcome));
        expect(received[row]).toMatch(/^POST \/hook HTTP\/1\.1\r\n[^]*\r\n\r\na secret$/);
      } else {
        expect(outcomes[row]).toBe(`OutboundFailed: TLS failed (${outcome})`);
        expect(received[row]).toBe('');
      }
    },
  );

  it('rotating addresses gets all requests on one connection', async () => {
    const port = await listen(await authority.issue({ host: HOST }), CASES.length, { keepAlive: true });
    const url = `https://${HOST}:${port}/hook`;
    const statuses = await send([url, url, url], { ADDRESSES: '127.0.0.1,127.0.0.2,127.0.0.3' });
    expect(statuses).toEqual(['204', '204', '204']);
    expect(connections).toBe(1);
    receivers.stop();
  });

  it('no certificate fails the request as TLS error', async () => {
    const port = await receivers.http((_request, response) => response.end());
    const outbound = new Outbound({ isHosted: true, extraAllowedCidrs: ['127.0.0.1'] });
    const attempt = outbound.post({ url: `https://127.0.0.1:${port}/`, timeoutMs: 10_000, maxResponseBytes: 100 });
    await expect(attempt).rejects.toThrow(/^TLS failed \((EPROTO|ERR_SSL_\w+)\)$/);
    await outbound.close();
    await receivers.drain();
  });

  it('a valid certificate fails in a process that does not know its authority', async () => {
    const own = await Authority.create('Ours');
    const port = await listen(await own.issue({ host: HOST }), 0);
    const resolver = { resolve: () => Promise.resolve(['127.0.0.1']) };
    const outbound = new Outbound({ isHosted: true, extraAllowedCidrs: ['127.0.0.1'], resolver });
    const attempt = outbound.post({ url: `https://${HOST}:${port}/`, timeoutMs: 10_000, maxResponseBytes: 100 });
    await expect(attempt).rejects.toThrow('TLS failed (UNABLE_TO_VERIFY_LEAF_SIGNATURE)');
    await expect(attempt).rejects.toThrow(OutboundFailed);
    await outbound.close();
    await receivers.drain();
    expect(received[0]).toBe('');
  });
});
