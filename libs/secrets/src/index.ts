export * from './enrollment-peppers.js';
export * from './hashing.js';
export * from './key-ring.errors.js';
export * from './key-ring.js';
export * from './minting.js';
export * from './secrets.config.js';
