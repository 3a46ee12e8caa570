export * from './config-reader.js';
export * from './fleet.config.js';
