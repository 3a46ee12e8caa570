import type { ConnectionOptions } from 'nats';

/** Login and servers of a NATS URL; the client library does not understand `user:password@`. */
export interface NatsAddress {
  servers: string[];
  user?: string;
  pass?: string;
}

/**
 * Splits a NATS URL, which may list several servers, into login and servers: `nats://user:password@a:4222,b:4222`.
 * @throws TypeError  when a part is not a URL
 */
export function parseNatsUrl(url: string): NatsAddress {
  const parts = url
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => new URL(part.includes('://') ? part : `nats://${part}`));
  if (parts.length === 0) throw new TypeError('NATS_URL names no server');
  const login = parts.find((part) => part.username !== '');
  return {
    servers: parts.map((part) => `${part.protocol}//${part.hostname}:${part.port || '4222'}`),
    ...(login && { user: decodeURIComponent(login.username), pass: decodeURIComponent(login.password) }),
  };
}

/**
 * Returns the connection options of the fleet: unlimited reconnects, an inbox prefix for each login (so that a login
 * receives only its own replies), and pings that notice a silent server within six seconds.
 * @param name  shown in the server's connection list; also the inbox prefix where no login is used
 */
export function natsOptions(url: string, name: string): ConnectionOptions {
  const address = parseNatsUrl(url);
  return {
    ...address,
    name,
    inboxPrefix: `_INBOX.${address.user ?? name}`,
    reconnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 100,
    pingInterval: 2_000,
    maxPingOut: 2,
    timeout: 5_000,
    ignoreClusterUpdates: false,
  };
}
