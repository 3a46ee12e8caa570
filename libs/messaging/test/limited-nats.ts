import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.join(__dirname, '../../..');

/** A NATS server whose logins are those of deploy/nats/permissions.json, and `fleet`, who may do everything. */
export interface LimitedNats {
  urlFor(login: string): string;
  stop(): Promise<void>;
}

export async function startLimitedNats(): Promise<LimitedNats> {
  const folder = await mkdtemp(path.join(tmpdir(), 'rmm-nats-logins-'));
  const file = path.join(ROOT, 'deploy/nats/permissions.json');
  const { users } = JSON.parse(await readFile(file, 'utf8')) as { users: Record<string, unknown> };
  const logins = Object.entries(users).map(([user, permissions]) => ({ user, password: 'spec', permissions }));
  const port = await freePort();
  const config = path.join(folder, 'nats.conf');
  await writeFile(
    config,
    [
      `listen: "127.0.0.1:${port}"`,
      `jetstream { store_dir: ${JSON.stringify(folder)}, max_file_store: 1GB, max_memory_store: 64MB }`,
      `authorization { users: ${JSON.stringify([{ user: 'fleet', password: 'spec' }, ...logins])} }`,
    ].join('\n'),
  );
  const server = spawn(natsBinary(), ['-c', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    server.stderr.on('data', (chunk: Buffer) => {
      said.push(chunk.toString());
      if (chunk.toString().includes('Server is ready')) resolve();
    });
    server.once('exit', () => reject(new Error(said.join(''))));
  });
  return {
    urlFor: (login) => `nats://${login}:spec@127.0.0.1:${port}`,
    stop: async () => {
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The one the other specs use: of the environment, else what the launcher finds. */
function natsBinary(): string {
  const given = process.env.TEST_NATS_BIN;
  if (given) return given;
  const script = `import('./tools/binaries/nats.mjs').then(async (m) => console.log((await m.findNats(() => undefined)).bin))`;
  return execFileSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' }).trim();
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
