import { createHmac, timingSafeEqual } from 'node:crypto';
import http from 'node:http';
import { listenNear } from '../edge/listen.mjs';
import { Failure } from '../failure.mjs';
import { dim } from '../fleet/reporter.mjs';
import { readOptions } from './options.mjs';

/**
 * `fleet receiver [--port n] [--secret s] [--fail n] [--count n] [--body]`: a webhook receiver that prints what
 * arrives, and verifies it when it is given the secret. `--fail n` answers 503 to the first n, `--count n` ends it
 * after n, `--body` prints the bodies too.
 */
export default async function receiver(args) {
  const { values } = readOptions(args, {
    port: { type: 'string', default: '9377' },
    secret: { type: 'string' },
    fail: { type: 'string', default: '0' },
    count: { type: 'string' },
    body: { type: 'boolean', default: false },
  });
  const [port, fail, count] = [
    number('port', values.port),
    number('fail', values.fail),
    number('count', values.count ?? '0'),
  ];
  let received = 0;
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));

  const server = http.createServer(async (request, response) => {
    const body = await readBody(request);
    received += 1;
    const status = received <= fail ? 503 : 200;
    response
      .writeHead(status, { 'content-type': 'text/plain' })
      .end('noted', () => count && received >= count && finish());
    const type = request.headers['x-service-event-type'] ?? 'request';
    console.log(
      `${type}  attempt ${received}  signature ${verdict(request.headers, body, values.secret)}  answered ${status}`,
    );
    if (values.body) console.log(dim(body));
  });
  const chosen = await listenNear(server, port);
  if (values.port !== '9377' && chosen !== port) throw new Failure(`Port ${port} is taken.`);
  console.log(dim(`listening at http://127.0.0.1:${chosen}/ ; the fleet must run with --local-receivers`));
  await finished;
  server.close().closeIdleConnections();
}

function number(name, text) {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new Failure(`--${name} must be a whole number, got "${text}"`);
  return value;
}

async function readBody(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * The signature is made of its own timestamp header, a dot, and the raw body; compared in constant time. After a
 * rotation the secret from before it has a signature of its own for a while.
 */
function verdict(headers, body, secret) {
  if (!headers['x-service-signature']) return 'absent';
  if (!secret) return 'not checked';
  const timestamp = headers['x-service-signature-timestamp'];
  const wanted = `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
  const isWanted = (given = '') =>
    given.length === wanted.length && timingSafeEqual(Buffer.from(given), Buffer.from(wanted));
  if (isWanted(headers['x-service-signature'])) return 'good';
  return isWanted(headers['x-service-signature-previous']) ? 'good (previous secret)' : 'BAD';
}
