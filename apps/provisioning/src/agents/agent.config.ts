/** Intervals of an agent, sent at enrollment and with each heartbeat. @see docs/reference/provisioning.md */
export const AGENT_CONFIG = Object.freeze({ heartbeatIntervalSeconds: 60, metricsCollectionIntervalSeconds: 30 });
