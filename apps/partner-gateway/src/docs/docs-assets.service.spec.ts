import { text } from 'node:stream/consumers';
import { DocsAssetsService } from './docs-assets.service.js';

describe('DocsAssetsService', () => {
  const assets = new DocsAssetsService();
  const namesIn = (html: string) => [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name);

  it('refers to no other host', () => {
    const page = assets.page('');
    expect(page).not.toMatch(/https?:\/\/|\/\/[a-z]/i);
    expect(page).not.toMatch(/<script>|<style>| on\w+=/);
  });

  it('refers to existing files only', async () => {
    const names = namesIn(assets.page('/base')).filter((name) => name.startsWith('/base/docs/'));
    expect(names).toHaveLength(4);
    for (const name of names) {
      const { type, content } = assets.open(name.slice('/base/docs/'.length));
      expect(type).toMatch(/^(text\/(css|javascript)|image\/png)/);
      expect((typeof content === 'string' ? content : await text(content)).length).toBeGreaterThan(100);
    }
  });

  it.each(['package.json', '../package.json', '__proto__', 'index.html', ''])('returns 404 for the file %j', (name) => {
    expect(() => assets.open(name)).toThrow(expect.objectContaining({ status: 404 }));
  });
});
