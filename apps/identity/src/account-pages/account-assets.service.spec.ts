import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AccountAssetsService } from './account-assets.service.js';

const STATIC = join(import.meta.dirname, '../../account-pages/static');

describe('AccountAssetsService', () => {
  const assets = new AccountAssetsService();

  it('serves scripts, styles, texts and the WebAuthn bundle with their types', () => {
    const typeOf = (name: string) => assets.get(assets.version, name).type;
    expect(typeOf('main.mjs')).toBe('text/javascript; charset=utf-8');
    expect(typeOf('style.css')).toBe('text/css; charset=utf-8');
    expect(typeOf('de.json')).toBe('application/json; charset=utf-8');
    expect(typeOf('icon.svg')).toBe('image/svg+xml');
    expect(assets.get(assets.version, 'webauthn.js').content.toString()).toContain('SimpleWebAuthnBrowser');
  });

  it('has the same version as long as no file changes', () => {
    expect(assets.version).toMatch(/^[0-9a-f]{16}$/);
    expect(new AccountAssetsService().version).toBe(assets.version);
  });

  it('serves every module that another one imports', () => {
    for (const file of readdirSync(STATIC).filter((name) => name.endsWith('.mjs'))) {
      const imported = readFileSync(join(STATIC, file), 'utf8').matchAll(/(?:from|import\()\s*'\.\/([\w.-]+)'/g);
      for (const [, name = ''] of imported) expect(assets.get(assets.version, name).type).toContain('javascript');
    }
  });

  it.each(['', '../config.ts', 'package.json', '__proto__', 'main.mjs/'])('returns 404 for the file %j', (name) => {
    expect(() => assets.get(assets.version, name)).toThrow(expect.objectContaining({ status: 404 }));
  });

  it('returns 404 for another version, so that no browser stores a new file under an old address', () => {
    expect(() => assets.get('0123456789abcdef', 'main.mjs')).toThrow(expect.objectContaining({ status: 404 }));
  });
});
