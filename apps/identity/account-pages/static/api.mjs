/**
 * Calls the public API with an access token that is kept in the memory of this page only. The session itself is the
 * HttpOnly refresh cookie, which no script can read.
 */

/** @typedef {Record<string, any>} Body */

const API = document.documentElement.dataset.api ?? '/api/v1';
const CSRF_COOKIE = /(?:^|;\s*)service_csrf_token=([0-9a-f]{64})/;
const MAX_RACES = 3;

/** @type {string | null} */
let accessToken = null;

/** An error response of the API, or `network` when there was none. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {Body} body
   */
  constructor(status, body) {
    super(body.message ?? 'request failed');
    this.status = status;
    this.body = body;
    /** @type {string} */
    this.code = body.code ?? 'unknown';
  }
}

/**
 * Sends a request; with the access token where there is one, which is renewed once when it has expired.
 * @param {'GET' | 'POST' | 'PATCH' | 'DELETE'} method
 * @param {string} path  below /api/v1
 * @param {Body} [body]
 * @returns {Promise<Body>}
 * @throws {ApiError}
 */
export async function call(method, path, body) {
  try {
    return await send(method, path, body);
  } catch (error) {
    const isExpired = error instanceof ApiError && error.code === 'unauthenticated' && accessToken !== null;
    if (!isExpired || !(await openSession())) throw error;
    return send(method, path, body);
  }
}

/**
 * Exchanges the refresh cookie for an access token.
 * @returns {Promise<boolean>} false when no user is signed in
 */
export async function openSession() {
  for (let attempt = 0; ; attempt++) {
    const csrfToken = CSRF_COOKIE.exec(document.cookie)?.[1];
    if (csrfToken === undefined) return false;
    accessToken = null;
    try {
      await send('POST', '/auth/refresh', undefined, { 'x-service-csrf': csrfToken });
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 401) return false;
      // Another tab has just renewed the cookie: its successor is there in a moment.
      if (error.code !== 'refresh_raced' || attempt >= MAX_RACES) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

export const isSignedIn = () => accessToken !== null;

/**
 * Ends this session and no others. The API refuses its address while a factor has to be set up; logout, which ends all
 * sessions, always works.
 */
export async function endSession() {
  const id = sessionId();
  try {
    if (id === null) await call('POST', '/auth/logout');
    else await call('DELETE', `/auth/sessions/${id}`);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 428) throw error;
    await call('POST', '/auth/logout');
  }
  closeSession();
}

/** Returns the claim `sid` of the access token. */
function sessionId() {
  const payload = accessToken?.split('.')[1]?.replaceAll('-', '+').replaceAll('_', '/');
  const { sid } = payload ? JSON.parse(atob(payload)) : {};
  return typeof sid === 'string' ? sid : null;
}

/** Forgets the access token, after the session has ended. */
export function closeSession() {
  accessToken = null;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {Body} [body]
 * @param {Record<string, string>} [headers]
 * @returns {Promise<Body>}
 */
async function send(method, path, body, headers = {}) {
  /** @type {Record<string, string>} */
  const all = { accept: 'application/json', ...headers };
  if (body !== undefined) all['content-type'] = 'application/json';
  if (accessToken !== null) all['authorization'] = `Bearer ${accessToken}`;
  const response = await fetch(`${API}${path}`, {
    method,
    headers: all,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: 'same-origin',
    cache: 'no-store',
  }).catch(() => {
    throw new ApiError(0, { code: 'network' });
  });
  /** @type {Body} */
  const reply = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, reply);
  const token = reply.tokens?.accessToken ?? reply.accessToken;
  if (typeof token === 'string') accessToken = token;
  return reply;
}
