// The two bare ways to send a POST with undici over kept connections: its `request`, and `dispatch` with the smallest
// handler there can be. Both resolve with the status.
import { Pool, request } from 'undici';

const CONNECTIONS = 10; // to an origin, as the dispatcher's default
const pools = new Map();

function poolOf(origin) {
  let pool = pools.get(origin);
  if (!pool) pools.set(origin, (pool = new Pool(origin, { connections: CONNECTIONS, keepAliveTimeout: 60_000 })));
  return pool;
}

async function bareRequest(origin, path, headers, body) {
  const response = await request(origin + path, { method: 'POST', headers, body });
  await response.body.text();
  return response.statusCode;
}

function bareDispatch(origin, path, headers, body) {
  return new Promise((resolve, reject) => {
    let status = 0;
    poolOf(origin).dispatch(
      { path, method: 'POST', headers, body },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, code) => (status = code),
        onResponseData: () => undefined,
        onResponseEnd: () => resolve(status),
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}

export const POSTS = { request: bareRequest, dispatch: bareDispatch };
