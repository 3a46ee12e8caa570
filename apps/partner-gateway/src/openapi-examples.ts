import { readFileSync } from 'node:fs';
import type { OperationExamples } from '@rmm/service-kit';

/** Next to `src` and `dist`. */
export const EXAMPLES_FILE = new URL('../openapi-examples.json', import.meta.url);

/** Calls recorded by `writes.service.spec.ts`, shown on the docs page. */
export const readExamples = (): OperationExamples =>
  JSON.parse(readFileSync(EXAMPLES_FILE, 'utf8')) as OperationExamples;
