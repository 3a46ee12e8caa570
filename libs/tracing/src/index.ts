export * from './server-span.js';
export * from './spans.js';
export * from './traceparent.js';
export * from './tracing.config.js';
export * from './tracing.js';
