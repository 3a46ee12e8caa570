export * from './address-kind.js';
export * from './address-rules.js';
export * from './connection-pools.js';
export * from './exchange.js';
export * from './host-resolver.js';
export * from './outbound.errors.js';
export * from './outbound.service.js';
export * from './txt-resolver.js';
