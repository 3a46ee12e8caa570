import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { NotFoundError } from '@rmm/service-kit';
import { PAGE_LANGUAGES, PAGE_TEXTS } from './page-texts.js';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The same path from `src` and from `dist`. */
const STATIC_FILES = fileURLToPath(new URL('../../account-pages/static/', import.meta.url));

export interface AccountAsset {
  type: string;
  content: Buffer;
}

/**
 * Serves the style, the scripts and the texts of the account pages. Their address contains a hash of all of them, so that
 * browsers keep them until one changes, and modules import each other by relative paths.
 */
@Injectable()
export class AccountAssetsService {
  readonly version: string;
  private readonly files = new Map<string, AccountAsset>();

  constructor() {
    for (const name of readdirSync(STATIC_FILES)) this.add(name, readFileSync(path.join(STATIC_FILES, name)));
    for (const language of PAGE_LANGUAGES) {
      this.add(`${language}.json`, Buffer.from(JSON.stringify(PAGE_TEXTS[language])));
    }
    // A bundle of the package for `<script src>`: browsers do not resolve its name in an import.
    const webauthn = createRequire(import.meta.url).resolve('@simplewebauthn/browser');
    this.add('webauthn.js', readFileSync(path.join(path.dirname(webauthn), '../dist/bundle/index.umd.min.js')));
    this.version = this.hash();
  }

  /** @throws NotFoundError for another file or version */
  get(version: string, name: string): AccountAsset {
    const file = version === this.version ? this.files.get(name) : undefined;
    if (!file) throw new NotFoundError();
    return file;
  }

  private add(name: string, content: Buffer): void {
    const type = TYPES[path.extname(name)];
    if (type) this.files.set(name, { type, content });
  }

  private hash(): string {
    const hash = createHash('sha256');
    const sorted = [...this.files].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [name, { content }] of sorted) hash.update(`${name}:${content.length}:`).update(content);
    return hash.digest('hex').slice(0, 16);
  }
}
