// Checks relative links of Markdown files, and what comments and READMEs cite: Markdown files with their anchors, paths of a project.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../..');
const LINK = /\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g;
const CODE = /^```[\s\S]*?^```|`[^`\n]*`/gm;
const FENCE = /^```[\s\S]*?^```/gm;
const SOURCE = /\.(ts|mts|mjs|js|ya?ml|sh|sql)$|(^|\/)(Dockerfile|fleet|\.env\.example)$/;
const COMMENT = /\/\*[\s\S]*?\*\/|(?<!:)\/\/[^\n]*|^\s*#[^\n]*/gm;
const CITATION = /(?<![\w/.-])([\w.-]+\/)*[\w.-]+\.md(#[\w-]+)?/g;
/** A path from the root is checked in strings too (test titles, messages). */
const PATH_IN_TEXT = /\bdocs\/[\w./-]+\.md(#[\w-]+)?/g;
/** Sections of documents that are not part of the repository. */
const ABSENT_DOCUMENT = /\b(SPEC|CONTRACT|ARCHITECTURE) \d[\d.]*/g;
const PROJECT_README = /^(apps|libs|packages)\/[^/]+\/README\.md$|^(tools|bench)\/README\.md$/;
/** A file or folder of the project that its README names: `src/limits.ts`. */
const PROJECT_PATH = /`((?:src|test)\/[\w./-]+)`/g;

/** Lists committed and new files; never what is installed or built. */
const files = () =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT })
    .toString()
    .split('\0')
    .filter((file) => file && !file.startsWith('third_party/') && fs.existsSync(path.join(ROOT, file)));

const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');

/** Derives anchors as GitHub does: lower case, punctuation dropped, blanks to hyphens, repeated headings numbered. */
function anchorsOf(text) {
  const seen = new Map();
  return [...text.replace(FENCE, '').matchAll(/^#+ (.+)$/gm)].map(([, heading]) => {
    const slug = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count ? `${slug}-${count}` : slug;
  });
}

/** @returns null, or why the link leads nowhere; `folders` are tried in turn */
function problemOf(file, link, folders) {
  const [target, anchor] = decodeURIComponent(link).split('#');
  const found = target
    ? folders.map((dir) => path.join(dir, target)).find((p) => fs.existsSync(path.join(ROOT, p)))
    : file;
  if (!found) return `${file}: ${link} does not exist`;
  const isDead = anchor && found.endsWith('.md') && !anchorsOf(read(found)).includes(anchor);
  return isDead ? `${file}: ${link} names no heading` : null;
}

test('every relative link of a Markdown file leads to a file and a heading', () => {
  const links = files()
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) => [...read(file).replace(CODE, '').matchAll(LINK)].map(([, link]) => ({ file, link })))
    .filter(({ link }) => !/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(link));
  assert.ok(links.length > 20, `only ${links.length} links were found: the pattern is outdated`);
  assert.deepEqual(links.map(({ file, link }) => problemOf(file, link, [path.dirname(file)])).filter(Boolean), []);
});

test('every Markdown file that a source cites exists, with its heading', () => {
  const citations = files()
    .filter((file) => SOURCE.test(file))
    .flatMap((file) =>
      [...read(file).matchAll(COMMENT), ...read(file).matchAll(PATH_IN_TEXT)].flatMap(([text]) =>
        [...text.matchAll(CITATION)].map(([link]) => ({ file, link })),
      ),
    );
  assert.ok(citations.length > 20, `only ${citations.length} citations were found: the pattern is outdated`);
  const problems = citations.map(({ file, link }) => problemOf(file, link, ['', path.dirname(file)]));
  assert.deepEqual([...new Set(problems.filter(Boolean))], []);
});

test('no source and no document cites what the repository does not contain', () => {
  const cited = files()
    .filter((file) => SOURCE.test(file) || file.endsWith('.md'))
    .flatMap((file) => [...read(file).matchAll(ABSENT_DOCUMENT)].map(([section]) => `${file}: ${section}`));
  assert.deepEqual(cited, []);
});

test('every file that the README of a project names exists', () => {
  const paths = files()
    .filter((file) => PROJECT_README.test(file))
    .flatMap((file) => [...read(file).matchAll(PROJECT_PATH)].map(([, name]) => ({ file, name })));
  assert.ok(paths.length > 10, `only ${paths.length} paths were found: the pattern is outdated`);
  const isMissing = ({ file, name }) => !fs.existsSync(path.join(ROOT, path.dirname(file), name));
  const missing = paths.filter(isMissing).map(({ file, name }) => `${file}: ${name} does not exist`);
  assert.deepEqual(missing, []);
});

test('the index lists every decision', () => {
  const index = read('docs/decisions/README.md');
  const decisions = files().filter((file) => /^docs\/decisions\/\d{4}-/.test(file));
  assert.ok(decisions.length > 0);
  const missing = decisions.filter((file) => !index.includes(`(${path.basename(file)})`));
  assert.deepEqual(missing, [], 'run: node tools/checks/decisions-index.mjs');
});
