#!/usr/bin/env node
// Tries what the Dockerfile builds on a machine without a container engine: runs its steps in a folder with the Node version of
// the images, and starts each service from there next to a running fleet, as another user and with a read-only root.
// Needs Linux, root and npm: `./fleet up --detach && node deploy/docker/try-image.mjs`.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ROOT = path.resolve(import.meta.dirname, '../..');
const DOCKERFILE = readFileSync(path.join(import.meta.dirname, 'Dockerfile'), 'utf8');
const SERVICES = [...DOCKERFILE.matchAll(/^CMD \["node", "apps\/([\w-]+)\/dist\/main.js"\]$/gm)].map(
  ([, name]) => name,
);
const [, NODE_VERSION] = /NODE_IMAGE=node:(\d+)/.exec(DOCKERFILE) ?? [];
/** Any user without rights. */
const USER = '65534';
const READY_MS = 120_000;

// Not below /tmp, which is a folder of its own for the services.
const dir = mkdtempSync(path.join(path.dirname(tmpdir()), 'rmm-image-'));
const repo = path.join(dir, 'repo');
const root = path.join(dir, 'root');
const sh = (script, env = {}) =>
  execFileSync('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: dir,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });

/** Runs the stages `production-packages` and `build` of the Dockerfile. @returns the path of Node */
function build() {
  sh(`mkdir repo root && npm install --prefix node --no-audit --no-fund --silent node@${NODE_VERSION}`);
  const bin = path.join(dir, 'node/node_modules/node/bin');
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    cpSync(path.join(ROOT, name), path.join(repo, name));
  sh(`cd ${ROOT} && find apps bench libs packages -name package.json -not -path '*/node_modules/*' -not -path '*/dist/*' -print0 |
      tar --null -T - -cf - | tar -xf - -C ${repo}`);
  const workspaces = SERVICES.map((name) => `--workspace @rmm/${name}`).join(' ');
  sh(`cd ${repo} && npm ci --omit=dev ${workspaces} --no-audit --no-fund --silent`, {
    CI: 'true',
    PATH: `${bin}:${process.env.PATH}`,
  });
  const [, copy] = /tar -cf - (--exclude[^|]+)\|/.exec(DOCKERFILE.replaceAll(/\\\n/g, ' ')) ?? [];
  sh(`cd ${ROOT} && tar -cf - ${copy} | tar -xf - -C ${repo} && chmod -R a+rX ${dir}`);
  return path.join(bin, 'node');
}

/** Starts a service with the variables of the same one in the running fleet. */
async function start(node, name, { pid }, port) {
  const variables = readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .map((line) => /^([^=]+)=([^]*)$/.exec(line));
  const env = Object.fromEntries(variables.flatMap((match) => (match ? [[match[1], match[2]]] : [])));
  const service = `cd ${repo} && exec ${node} apps/${name}/dist/main.js`;
  const script = `mount --make-rprivate / && mount --rbind / ${root} && mount -o remount,ro,bind ${root} &&
    mount -t tmpfs tmpfs ${root}/tmp && exec chroot ${root} setpriv --reuid=${USER} --regid=${USER} --clear-groups sh -c '${service}'`;
  const child = spawn('unshare', ['-m', 'bash', '-c', script], {
    env: { ...env, PORT: String(port), PATH: process.env.PATH },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (const deadline = Date.now() + READY_MS; Date.now() < deadline; await sleep(250)) {
    if (child.exitCode !== null) throw new Error(`${name} has ended with ${child.exitCode}`);
    const response = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null);
    if (response?.ok) return child;
  }
  child.kill();
  throw new Error(`${name} was not ready within ${READY_MS / 1_000} s`);
}

/** Returns the user of a process and whether it can write outside of /tmp. */
function stateOf({ pid }) {
  const [, uid] = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  const writing = `touch ${repo}/written 2>&1 || true`;
  const reply = execFileSync('nsenter', ['-t', String(pid), '-m', '-r', 'sh', '-c', writing], { encoding: 'utf8' });
  return { uid, isReadOnly: reply.includes('Read-only file system') };
}

try {
  const status = JSON.parse(execFileSync(path.join(ROOT, 'fleet'), ['status', '--json'], { encoding: 'utf8' }));
  const node = build();
  console.log(`Node ${sh(`${node} --version`).trim()}, ${sh(`du -sh ${repo}`).split('\t')[0]}`);
  for (const [index, name] of SERVICES.entries()) {
    const running = status.services.find((service) => service.name === name);
    const child = await start(node, name, running, 24_001 + index);
    const { uid, isReadOnly } = stateOf(child);
    child.kill('SIGTERM');
    const [exitCode] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
    if (uid !== USER || !isReadOnly || exitCode !== 0)
      throw new Error(`${name}: ${JSON.stringify({ uid, isReadOnly, exitCode })}`);
    console.log(`${name}: ready, read-only root, user ${uid}, stopped with ${exitCode}`);
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
