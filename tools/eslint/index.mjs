import { oneDoorPerRoute } from './one-door-per-route.mjs';

/** The lint rules of this workspace, as an ESLint plugin: `plugins: { rmm }, rules: { 'rmm/one-door-per-route': 'error' }`. */
export default {
  meta: { name: 'rmm', version: '0.0.0' },
  rules: { 'one-door-per-route': oneDoorPerRoute },
};
