// Load over plain sockets with requests written once: cheap enough to leave the other core to the stores, and its times
// are finer than a millisecond.
import { once } from 'node:events';
import net from 'node:net';

const CONNECTIONS = 50;
const MAX_CATCH_UP_MS = 4;
const LENGTH = /\r\ncontent-length: (\d+)/i;

/** A GET with keep-alive, ready to be written. */
export const getRequest = (path, headers = {}) =>
  Buffer.from(
    `GET ${path} HTTP/1.1\r\nHost: bench\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`,
  );

/** One keep-alive connection with one request under way. */
class Line {
  constructor(port) {
    this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('data', (part) => this.consume(part));
    this.socket.on('error', (error) => this.fail?.(error));
    this.socket.on('close', () => this.fail?.(new Error('the connection was closed')));
    this.text = '';
  }

  /** @returns the status of the response */
  ask(request) {
    return new Promise((settle, fail) => {
      Object.assign(this, { settle, fail });
      this.socket.write(request);
    });
  }

  consume(part) {
    this.text += part.latin1Slice();
    const head = this.text.indexOf('\r\n\r\n');
    if (head === -1) return;
    const length = Number(LENGTH.exec(this.text)?.[1] ?? 0);
    if (this.text.length < head + 4 + length) return;
    const status = Number(this.text.slice(9, 12));
    this.text = '';
    this.settle(status);
  }
}

export async function openLines(port, count) {
  const lines = Array.from({ length: count }, () => new Line(port));
  await Promise.all(lines.map((line) => once(line.socket, 'connect')));
  return lines;
}

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

function summary(times, elapsedMs, refused) {
  if (refused > 0) throw new Error(`${refused} of ${times.length} requests were refused`);
  times.sort((a, b) => a - b);
  return {
    requests: times.length,
    perSecond: times.length / (elapsedMs / 1_000),
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
  };
}

/**
 * Sends requests as fast as the server responds, until time is up or the requests of `once` are used up.
 * @param {{ requests: Buffer[], seconds?: number, once?: boolean }} options  requests are asked in turn
 */
export async function flood(port, { requests, seconds = 2, once: onlyOnce = false }) {
  const lines = await openLines(port, CONNECTIONS);
  const times = [];
  const startedAt = performance.now();
  const until = onlyOnce ? Infinity : startedAt + seconds * 1_000;
  let next = 0;
  let refused = 0;
  const run = async (line) => {
    while (performance.now() < until && (!onlyOnce || next < requests.length)) {
      const askedAt = performance.now();
      if ((await line.ask(requests[next++ % requests.length])) !== 200) refused++;
      times.push(performance.now() - askedAt);
    }
  };
  await Promise.all(lines.map(run));
  const elapsedMs = performance.now() - startedAt;
  for (const line of lines) line.socket.destroy();
  return summary(times, elapsedMs, refused);
}

/**
 * Sends requests at a steady rate, independent of response times. Requests this process was too busy to send are left out:
 * sending them in a burst would measure this process instead of the server.
 */
export class Pace {
  times = [];
  next = 0;
  refused = 0;

  constructor(port, requests, perSecond) {
    Object.assign(this, { port, requests, perSecond });
  }

  /** @returns the summary of this run */
  async run(seconds) {
    this.times = [];
    this.lines ??= await openLines(this.port, CONNECTIONS);
    this.free ??= [...this.lines];
    const startedAt = performance.now();
    const pending = [];
    let due = 0;
    for (let last = startedAt; last - startedAt < seconds * 1_000;) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      const now = performance.now();
      due += (Math.min(now - last, MAX_CATCH_UP_MS) / 1_000) * this.perSecond;
      last = now;
      for (; due >= 1; due--) pending.push(this.ask());
    }
    await Promise.all(pending);
    return summary(this.times, performance.now() - startedAt, this.refused);
  }

  end() {
    for (const line of this.lines) line.socket.destroy();
  }

  async ask() {
    const askedAt = performance.now();
    const line = this.free.pop() ?? (await this.another());
    if ((await line.ask(this.requests[this.next++ % this.requests.length])) !== 200) this.refused++;
    this.times.push(performance.now() - askedAt);
    this.free.push(line);
  }

  async another() {
    const [line] = await openLines(this.port, 1);
    this.lines.push(line);
    return line;
  }
}
