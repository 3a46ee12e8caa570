export * from './open-api-document.js';
export * from './recorded-examples.js';
