import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { makeDir } from '../paths.mjs';

/**
 * What the private stores of one run share: their folder, their secret, their wished ports.
 * @typedef {object} StoreContext
 */
export class StoreContext {
  /** Folders outside `dir`, made because the data had to be reachable by another user. */
  outside = [];

  constructor({ dir, keeper, say = () => {}, throwaway = false, ports = {} }) {
    Object.assign(this, { dir: makeDir(dir), keeper, say, throwaway, ports });
    this.logDir = makeDir(path.join(dir, 'log'));
    this.secret = keptSecret(path.join(dir, 'store-secret'));
  }

  addOutside(folder) {
    this.outside.push(folder);
    if (this.throwaway) this.keeper.removeAtEnd(folder);
  }

  remove() {
    for (const folder of [this.dir, ...this.outside]) fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** One random secret per data folder: without one, every local user would be a superuser of the stores. */
function keptSecret(file) {
  if (!fs.existsSync(file)) fs.writeFileSync(file, randomBytes(18).toString('base64url'), { mode: 0o600 });
  return fs.readFileSync(file, 'utf8').trim();
}
