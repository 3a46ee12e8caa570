import type { FleetHandle } from '@rmm/testing';

/** Returns the options that connect to the NATS of a fleet: the client does not read the login in a URL. */
export function natsServerOf({ natsUrl }: Pick<FleetHandle, 'natsUrl'>): {
  servers: string;
  user?: string;
  pass?: string;
} {
  const { host, username, password } = new URL(natsUrl);
  return { servers: host, ...(username !== '' && { user: username, pass: password }) };
}
