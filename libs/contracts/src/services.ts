/** The five services of the fleet: the names of their folders and NATS logins. */
export const SERVICES = ['identity', 'credentials', 'partner-gateway', 'provisioning', 'webhook-dispatcher'] as const;
export type ServiceName = (typeof SERVICES)[number];
