export * from './open-api-document.js';
export * from './recorded-examples.js';
export { schemaMismatches, type Schema, type Schemas } from './schema-mismatches.js';
export * from './list-operations.js';
export * from './list-problems.js';
