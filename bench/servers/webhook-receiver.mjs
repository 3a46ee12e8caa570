// The receiver of the webhook benchmarks: raw TCP on some ports, so that it leaves the cores to the senders. The first
// part of a path is the behavior, the rest the group that is counted: `/ok/quiet`. With a certificate in BENCH_CERTIFICATE
// it speaks TLS.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { announce } from '../support/bench-server.mjs';
import { micros, percentile, SECRET } from '../support/webhook-message.mjs';

const REPLY = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
const FAILURE = Buffer.from('HTTP/1.1 500 Internal Server Error\r\ncontent-length: 4\r\n\r\noops');
const DRIP_HEAD = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n');
const DRIP_MS = 500;
/** One in so many signatures is checked: all of them would cost more than the rest of this process. */
const CHECK_EVERY = 50;
const HEAD_END = '\r\n\r\n';

const groups = new Map();
/** Deliveries whose first attempt was refused by `once`. */
const refused = new Set();
let connections = 0;

/** Replies of each kind of receiver. `once` refuses the first attempt of each delivery, and counts the others. */
const BEHAVIORS = {
  ok: (socket) => socket.write(REPLY),
  once: (socket) => socket.write(REPLY),
  fail: (socket) => socket.write(FAILURE),
  hang: () => undefined,
  drip: (socket) => {
    socket.write(DRIP_HEAD);
    const timer = setInterval(() => socket.write('.'), DRIP_MS);
    socket.once('close', () => clearInterval(timer));
  },
};

/** Removes complete requests from the front of a buffer. @returns the rest */
function takeRequests(socket, bytes) {
  for (;;) {
    const end = bytes.indexOf(HEAD_END);
    if (end === -1) return bytes;
    const head = bytes.latin1Slice(0, end);
    const length = Number(valueOf(head, 'content-length: '));
    const start = end + HEAD_END.length;
    if (bytes.length < start + length) return bytes;
    count(socket, head, bytes.subarray(start, start + length));
    if (bytes.length === start + length) return null;
    bytes = bytes.subarray(start + length);
  }
}

function count(socket, head, body) {
  const [, behavior, name] = head.slice(head.indexOf(' ') + 1, head.indexOf(' HTTP/')).split('/');
  if (behavior === 'once' && isFirstAttempt(head)) {
    socket.write(FAILURE);
    return;
  }
  let group = groups.get(name);
  if (!group) groups.set(name, (group = { ids: new Set(), received: 0, bad: 0, waits: [] }));
  group.received += 1;
  group.ids.add(valueOf(head, 'X-Service-Delivery-Id: '));
  const at = body.indexOf('"at":');
  if (at !== -1) group.waits.push(micros() - Number.parseInt(body.latin1Slice(at + 5, at + 25), 10));
  if (group.received % CHECK_EVERY === 0 && !isSigned(head, body)) group.bad += 1;
  BEHAVIORS[behavior](socket);
}

function isFirstAttempt(head) {
  const id = valueOf(head, 'X-Service-Delivery-Id: ');
  const isFirst = !refused.has(id);
  if (isFirst) refused.add(id);
  return isFirst;
}

function valueOf(head, name) {
  const at = head.indexOf(name);
  if (at === -1) return undefined;
  const end = head.indexOf('\r\n', at);
  return head.slice(at + name.length, end === -1 ? undefined : end);
}

function isSigned(head, body) {
  const time = valueOf(head, 'X-Service-Signature-Timestamp: ');
  const signature = createHmac('sha256', SECRET).update(`${time}.`).update(body).digest('hex');
  return valueOf(head, 'X-Service-Signature: ') === `sha256=${signature}`;
}

/** Returns what each group received, and the connections opened, since the last call. */
function taken() {
  const result = peeked();
  groups.clear();
  connections = 0;
  return result;
}

/** Returns the same without resetting it. */
function peeked() {
  const result = { connections, groups: {} };
  for (const [name, { ids, received, bad, waits }] of groups) {
    const sorted = Float64Array.from(waits).sort();
    const ms = (share) => percentile(sorted, share) / 1_000;
    const times = { p50Ms: ms(0.5), p95Ms: ms(0.95), p99Ms: ms(0.99), maxMs: ms(1) };
    result.groups[name] = { received, distinct: ids.size, bad, ...times };
  }
  return result;
}

function accept(socket) {
  connections += 1;
  let left = null;
  socket.on('data', (part) => (left = takeRequests(socket, left ? Buffer.concat([left, part]) : part)));
  socket.on('error', () => socket.destroy());
}

const certificate = JSON.parse(process.env.BENCH_CERTIFICATE ?? 'null');
const createServer = () =>
  certificate
    ? tls.createServer({ ...certificate, noDelay: true }, accept)
    : net.createServer({ noDelay: true }, accept);
const servers = Array.from({ length: Number(process.argv[2] ?? 1) }, createServer);
for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening');
const ports = servers.map((server) => server.address().port);
announce(
  ports[0],
  { ports },
  {
    taken,
    peeked,
    received: () => Object.fromEntries([...groups].map(([name, { received }]) => [name, received])),
  },
);
