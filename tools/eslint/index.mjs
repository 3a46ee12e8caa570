import { oneDoorPerRoute } from './one-access-decorator-per-route.mjs';

/** The lint rules of this workspace, as an ESLint plugin: `plugins: { rmm }, rules: { 'rmm/one-access-decorator-per-route': 'error' }`. */
export default {
  meta: { name: 'rmm', version: '0.0.0' },
  rules: { 'one-access-decorator-per-route': oneDoorPerRoute },
};
