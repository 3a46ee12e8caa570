import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { Failure } from '../failure.mjs';

/**
 * How other commands talk to the running launcher: `POST /restart?service=<name>`. The token stands in the state file,
 * which only its owner may read.
 */
export async function startControl({ supervisor }) {
  const token = randomBytes(18).toString('base64url');
  const server = http.createServer(async (request, response) => {
    const { status, body } = await answer(request, { supervisor, token });
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    token,
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  };
}

async function answer(request, { supervisor, token }) {
  if (request.headers.authorization !== `Bearer ${token}`) return { status: 401, body: { error: 'Unauthorized' } };
  const url = new URL(request.url, 'http://launcher');
  if (request.method !== 'POST' || url.pathname !== '/restart') return { status: 404, body: { error: 'Not Found' } };
  try {
    await supervisor.restart(url.searchParams.get('service'));
    return { status: 200, body: { services: supervisor.describe() } };
  } catch (error) {
    return { status: error instanceof Failure ? 409 : 500, body: { error: error.message } };
  }
}
