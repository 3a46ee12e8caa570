import { readFileSync } from 'node:fs';
import path from 'node:path';

/** Rows of `third_party`, as their authors wrote them. @see third_party/README.md */
export const corpus = <T>(file: string): T => read(path.join(__dirname, '../../../third_party', file));

/** Rows of our own. */
export const vectors = <T>(file: string): T => read(path.join(__dirname, file));

function read<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}
