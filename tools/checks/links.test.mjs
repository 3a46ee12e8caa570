// Every relative link of a Markdown file leads to something that exists, and its #anchor to a heading.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../dist/paths.js';

const LINK = /\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g;
const CODE = /^```[\s\S]*?^```|`[^`\n]*`/gm;

/** Committed files and new ones; never what is installed or built. */
const pages = () =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: ROOT })
    .toString()
    .split('\0')
    .filter((file) => file && fs.existsSync(path.join(ROOT, file)));

const linksOf = (text) => [...text.replace(CODE, '').matchAll(LINK)].map(([, target]) => target);

/** As GitHub makes them: lower case, punctuation dropped, blanks to hyphens. */
const anchorsOf = (text) =>
  [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

function problemOf(page, link) {
  const [target, anchor] = decodeURIComponent(link).split('#');
  const file = target ? path.resolve(ROOT, path.dirname(page), target) : path.join(ROOT, page);
  if (!fs.existsSync(file)) return `${page}: ${link} does not exist`;
  const isMissing = anchor && file.endsWith('.md') && !anchorsOf(fs.readFileSync(file, 'utf8')).includes(anchor);
  return isMissing ? `${page}: ${link} names no heading` : null;
}

test('no relative link of a Markdown file is dead', () => {
  const links = pages().flatMap((page) =>
    linksOf(fs.readFileSync(path.join(ROOT, page), 'utf8')).map((link) => ({ page, link })),
  );
  const relative = links.filter(({ link }) => !/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(link));
  assert.ok(relative.length > 20, `only ${relative.length} links were found: the pattern has gone stale`);
  assert.deepEqual(relative.map(({ page, link }) => problemOf(page, link)).filter(Boolean), []);
});
