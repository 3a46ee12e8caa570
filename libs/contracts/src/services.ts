/** The five services of the fleet, by the name their folder, NATS login and audit rows carry. */
export const SERVICES = ['identity', 'credentials', 'partner-gateway', 'provisioning', 'webhook-dispatcher'] as const;
export type ServiceName = (typeof SERVICES)[number];
