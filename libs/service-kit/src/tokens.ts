/** Injects the `FleetConfig` (or what a service made of it). */
export const FLEET_CONFIG = Symbol('FLEET_CONFIG');
/** Injects the `ServiceName`. */
export const SERVICE_NAME = Symbol('SERVICE_NAME');
