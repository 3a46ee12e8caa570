/** How often agents report; they learn it at enrollment and with each heartbeat. @see CONTRACT.md 4.10.8 */
export const AGENT_CONFIG = Object.freeze({ heartbeatIntervalSeconds: 60, metricsCollectionIntervalSeconds: 30 });
