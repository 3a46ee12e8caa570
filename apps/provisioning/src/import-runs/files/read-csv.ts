import { CsvError, parse } from 'csv-parse';
import iconv from 'iconv-lite';
import { pipeline, Readable } from 'node:stream';
import { ImportRunFailed } from '../import-run.errors.js';
import { detectCharset, detectDelimiter } from './file-format.js';
import type { FileRow } from './file-row.js';
import { FILE_LIMITS } from './file.limits.js';

const SAMPLE_BYTES = 64 * 1024;

/**
 * Yields the rows of a CSV file, in the memory of one part of it. Charset and delimiter are detected; rows may have more or
 * fewer cells than the header.
 * @param open  opens the file from its start; called twice
 * @throws ImportRunFailed
 */
export async function* readCsv(open: () => AsyncIterable<Buffer>): AsyncGenerator<FileRow> {
  const charset = await detectCharset(open());
  const delimiter = detectDelimiter(iconv.decode(await readStart(open()), charset));
  const parser = parse({
    delimiter,
    bom: true,
    info: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: FILE_LIMITS.recordCharacters,
  });
  // The parser emits the error of a part that cannot be read.
  pipeline(Readable.from(open()), iconv.decodeStream(charset), parser, () => undefined);
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      yield { line: info.lines, cells: record };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new ImportRunFailed('import_file_malformed', `Line ${parser.info.lines} of the file is not valid CSV`);
  }
}

async function readStart(parts: AsyncIterable<Buffer>): Promise<Buffer> {
  for await (const part of parts) return part.subarray(0, SAMPLE_BYTES);
  return Buffer.alloc(0);
}
