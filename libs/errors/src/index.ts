export * from './domain-error.js';
export * from './domain-error.mapper.js';
export * from './errors.js';
export * from './serialized-error.mapper.js';
export * from './start-refusal.errors.js';
