export * from './catalog.js';
export * from './ceiling.js';
export * from './inheritance.js';
export * from './permission.js';
export * from './scopes.js';
export * from './system-roles.js';
export * from './vocabulary.js';
