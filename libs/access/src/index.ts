export * from './access.errors.js';
export * from './access.tokens.js';
export * from './callers/caller.js';
export * from './callers/current-caller.js';
export * from './callers/reach.js';
export * from './callers/site-axis.js';
export * from './doors/doors.js';
