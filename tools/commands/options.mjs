import { parseArgs } from 'node:util';
import { Failure } from '../failure.mjs';

/** Reads a command's arguments; a wrong one is answered with text, not with a stack. */
export function readOptions(args, options, { allowPositionals = false } = {}) {
  try {
    return parseArgs({ args, options, allowPositionals });
  } catch (error) {
    throw new Failure(`${error.message.split('. ')[0]}. See: fleet help`);
  }
}
