import http from 'node:http';

/** A refused body up to this length is read to its end. */
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;

/** Headers that belong to one connection and are not handed on. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'upgrade',
  'expect',
]);

/**
 * Hands a request to one instance and streams its answer back.
 * @returns {Promise<'answered' | 'unreachable' | 'broken'>} `unreachable`: no connection, nothing of the body was
 *   used, another instance may be tried. `broken`: the connection was lost before an answer came.
 */
export function forward({ request, response, instance, agent, requestId }) {
  return new Promise((resolve) => {
    const upstream = http.request({
      agent,
      host: '127.0.0.1',
      port: instance.port,
      method: request.method,
      path: request.url,
      headers: headersFor(request, requestId),
    });
    let answer = null;
    let sending = false;
    const send = () => {
      sending = true;
      request.pipe(upstream);
    };
    const abandon = () => response.writableFinished || upstream.destroy();

    upstream.once('socket', (socket) => (socket.connecting ? socket.once('connect', send) : send()));
    upstream.once('response', (given) => {
      answer = given;
      passBack(answer, { request, response, upstream });
      resolve('answered');
    });
    upstream.on('error', () => {
      request.unpipe(upstream);
      request.resume();
      response.off('close', abandon);
      if (answer && !answer.complete) response.destroy(); // cut off in the middle: the caller must see that
      const unused = !sending || (upstream.reusedSocket && hasNoBody(request));
      resolve(unused ? 'unreachable' : 'broken');
    });
    response.once('close', abandon);
  });
}

/**
 * An answer may come before the body has ended (413, say). What is left of the body is then read and thrown away here,
 * so that the caller gets to read the answer; unless that would take too long. The connection to the service is of no
 * further use: after a complete answer Node's client no longer says when it may be written to.
 */
function passBack(answer, { request, response, upstream }) {
  const headers = keptPairs(answer.rawHeaders);
  const rest = Number(request.headers['content-length'] ?? Infinity);
  if (!request.complete && !hasNoBody(request) && rest > MAX_DISCARDED_BYTES) headers.push('connection', 'close');
  response.writeHead(answer.statusCode, answer.statusMessage, headers);
  answer.pipe(response);
  answer.once('error', () => response.destroy());
  answer.once('end', () => {
    if (upstream.writableFinished) return;
    request.unpipe(upstream);
    request.resume();
    upstream.destroy();
  });
}

/** Pairs instead of an object, because a header may come twice (`Set-Cookie`). */
function keptPairs(raw) {
  const kept = [];
  for (let i = 0; i < raw.length; i += 2) if (!HOP_BY_HOP.has(raw[i].toLowerCase())) kept.push(raw[i], raw[i + 1]);
  return kept;
}

/** The edge is a trusted proxy: what came in as X-Forwarded-For stays, and the peer is added to it. */
function headersFor(request, requestId) {
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !HOP_BY_HOP.has(name)));
  const before = headers['x-forwarded-for'];
  const peer = request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? '';
  headers['x-forwarded-for'] = before ? `${before}, ${peer}` : peer;
  headers['x-forwarded-proto'] ??= 'http';
  headers['x-request-id'] = requestId;
  return headers;
}

function hasNoBody({ method, headers }) {
  return ['GET', 'HEAD'].includes(method) && !headers['transfer-encoding'] && !Number(headers['content-length']);
}
