import http from 'node:http';
import { listenNear } from '../edge/listen.mjs';
import { readMessages } from './messages.mjs';
import { mailboxPage } from './page.mjs';

/**
 * Shows what the fleet would have sent: `/` for people, `GET /messages?to=<address or number>` for programs.
 * @returns {Promise<{ url: string, port: number, close: () => Promise<void> }>}
 */
export async function startMailbox({ dir, wishedPort = 8025 }) {
  const server = http.createServer((request, response) => {
    answer(request, response, dir).catch((error) => send(response, 500, 'text/plain', error.message));
  });
  const port = await listenNear(server, wishedPort);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  };
}

async function answer(request, response, dir) {
  const { pathname, searchParams } = new URL(request.url, 'http://mailbox');
  if (request.method !== 'GET') return send(response, 405, 'text/plain', 'Method Not Allowed');
  const to = searchParams.get('to') || null;
  if (pathname === '/messages')
    return send(response, 200, 'application/json', JSON.stringify({ data: await readMessages(dir, to) }));
  if (pathname === '/') return send(response, 200, 'text/html', mailboxPage(await readMessages(dir, to), to));
  return send(response, 404, 'text/plain', 'Not Found');
}

function send(response, status, type, text) {
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' }).end(text);
}
