export { resample } from './sampling.js';
export * from './spans.js';
export * from './traceparent.js';
export * from './tracing.config.js';
export * from './tracing.js';
