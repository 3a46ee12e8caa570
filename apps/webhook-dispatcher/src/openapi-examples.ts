import { readFileSync } from 'node:fs';
import type { OperationExamples } from '@rmm/service-kit';

/** In the directory that contains `src` and `dist`. */
export const EXAMPLES_FILE = new URL('../openapi-examples.json', import.meta.url);

/** Reads the calls that `openapi.spec.ts` recorded, for the API documentation. */
export const readExamples = (): OperationExamples =>
  JSON.parse(readFileSync(EXAMPLES_FILE, 'utf8')) as OperationExamples;
