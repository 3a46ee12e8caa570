import { createHmac } from 'node:crypto';
import { Cursors } from '@rmm/persistence';
import type { ProvisioningConfig } from '../config.js';

/** Creates the cursors of a list, with a key of its own from the active key. @param list  names the list in the key */
export function createCursors({ secrets }: Pick<ProvisioningConfig, 'secrets'>, list: string): Cursors {
  const { keys, activeKid } = secrets.keyRing;
  const key = createHmac('sha256', keys[activeKid] ?? '');
  return new Cursors(key.update(`${list} cursors`).digest());
}
