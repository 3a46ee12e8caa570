import { converse } from './converse.mjs';

/**
 * Reads the greeting; with a login it also tries that login.
 * @returns {Promise<{ version: string }>}
 */
export async function probeNats(url) {
  const { hostname, port, username, password } = new URL(url);
  const connect = { verbose: false, pedantic: false, lang: 'node', version: '0' };
  if (username) Object.assign(connect, { user: decodeURIComponent(username), pass: decodeURIComponent(password) });
  const answer = await converse({
    host: hostname,
    port: Number(port || 4222),
    send: `CONNECT ${JSON.stringify(connect)}\r\nPING\r\n`,
    isComplete: (text) => /\r\n(PONG|-ERR)/.test(text) || !text.startsWith('INFO'),
  });
  const info = JSON.parse(/^INFO (.*)\r\n/.exec(answer)?.[1] ?? 'null');
  if (!info) throw new Error('this is not NATS');
  if (!info.jetstream) throw new Error('JetStream is off');
  const refusal = /-ERR '(.*)'/.exec(answer)?.[1];
  if (refusal) throw new Error(refusal);
  return { version: info.version };
}
