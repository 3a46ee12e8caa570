import { readFileSync } from 'node:fs';
import type { OperationExamples } from '@rmm/service-kit';

/** The same path from `src` and from `dist`. */
export const EXAMPLES_FILE = new URL('../openapi-examples.json', import.meta.url);

/** Calls recorded by `openapi.spec.ts`, shown on the docs page. */
export const readExamples = (): OperationExamples =>
  JSON.parse(readFileSync(EXAMPLES_FILE, 'utf8')) as OperationExamples;
