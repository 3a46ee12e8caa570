/** Injects the configuration of the service, which extends `FleetConfig`. */
export const FLEET_CONFIG = Symbol('FLEET_CONFIG');
/** Injects the `ServiceName`. */
export const SERVICE_NAME = Symbol('SERVICE_NAME');
