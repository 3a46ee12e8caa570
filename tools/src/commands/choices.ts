import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../paths.js';

/** The parts of `./fleet test`, in their order. */
export const PART_NAMES = ['format', 'types', 'lint', 'unit', 'launcher', 'e2e', 'fuzz'] as const;

export type PartName = (typeof PART_NAMES)[number];

/** The folder with a program for each benchmark. */
export const BENCHMARKS = path.join(ROOT, 'bench/benchmarks');

export function benchmarkNames(): string[] {
  const files = fs.readdirSync(BENCHMARKS);
  return files.map((file) => path.basename(file, '.mjs')).sort();
}
