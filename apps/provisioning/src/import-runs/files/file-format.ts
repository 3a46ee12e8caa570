import chardet from 'chardet';
import iconv from 'iconv-lite';
import { ImportRunFailed } from '../import-run.errors.js';

export type FileFormat = 'csv' | 'xlsx';

const ZIP = Buffer.from([0x50, 0x4b, 0x03, 0x04]);
const COMPOUND_DOCUMENT = Buffer.from([0xd0, 0xcf, 0x11, 0xe0]);
const DELIMITERS = [',', ';', '\t', '|'] as const;
const SAMPLE_LINES = 20;
const DEFAULT_CHARSET = 'windows-1252';
/** The charsets of text files that programs export; a guess of any other one is wrong more often than right. */
const CHARSETS = new Set([
  ...['UTF-8', 'UTF-16LE', 'UTF-16BE', 'ISO-8859-1', 'ISO-8859-2', 'ISO-8859-9', 'windows-1250', 'windows-1251'],
  ...['windows-1252', 'windows-1253', 'windows-1254', 'Shift_JIS', 'EUC-JP', 'EUC-KR', 'GB18030', 'Big5', 'KOI8-R'],
]);

/** @throws ImportRunFailed  for a file that is neither text nor XLSX */
export function detectFormat(start: Buffer): FileFormat {
  if (start.subarray(0, 4).equals(ZIP)) return 'xlsx';
  if (start.subarray(0, 4).equals(COMPOUND_DOCUMENT)) {
    throw new ImportRunFailed('import_file_unsupported', 'The file is an old Excel file: save it as XLSX or CSV');
  }
  if (markedCharset(start) === null && !looksLikeUtf16(start) && hasBinary(start)) {
    throw new ImportRunFailed('import_file_unsupported', 'The file is neither CSV nor XLSX');
  }
  return 'csv';
}

/** Control characters that no text has. */
function hasBinary(start: Buffer): boolean {
  return start.some((byte) => byte < 9 || (byte > 13 && byte < 32 && byte !== 27));
}

function markedCharset(start: Buffer): string | null {
  if (start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf) return 'UTF-8';
  if (start[0] === 0xff && start[1] === 0xfe) return 'UTF-16LE';
  if (start[0] === 0xfe && start[1] === 0xff) return 'UTF-16BE';
  return null;
}

/** Text in the Latin alphabet has a zero in every second byte. */
function looksLikeUtf16(start: Buffer): 'UTF-16LE' | 'UTF-16BE' | null {
  const sample = start.subarray(0, 1_000);
  if (sample.length < 4) return null;
  const zeros = [0, 0];
  sample.forEach((byte, at) => {
    if (byte === 0) zeros[at & 1] += 1;
  });
  const many = sample.length / 4;
  if (zeros[1] > many && zeros[0] === 0) return 'UTF-16LE';
  return zeros[0] > many && zeros[1] === 0 ? 'UTF-16BE' : null;
}

/**
 * Returns the charset of a text file: by its mark, by UTF-8 that is valid to its end, or by a guess from its first part
 * with other bytes than ASCII.
 */
export async function detectCharset(parts: AsyncIterable<Buffer>): Promise<string> {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  let isUtf8 = true;
  let sample: Buffer | null = null;
  let isFirst = true;
  for await (const part of parts) {
    const known = isFirst ? (markedCharset(part) ?? looksLikeUtf16(part)) : null;
    if (known !== null) return known;
    isFirst = false;
    if (sample === null && part.some((byte) => byte > 127)) sample = part;
    isUtf8 &&= decodes(utf8, part);
    if (!isUtf8 && sample !== null) break;
  }
  if (isUtf8 && decodes(utf8)) return 'UTF-8';
  const guessed = sample && chardet.detect(sample);
  return guessed && guessed !== 'UTF-8' && CHARSETS.has(guessed) && iconv.encodingExists(guessed)
    ? guessed
    : DEFAULT_CHARSET;
}

function decodes(decoder: InstanceType<typeof TextDecoder>, part?: Buffer): boolean {
  try {
    decoder.decode(part, { stream: part !== undefined });
    return true;
  } catch {
    return false;
  }
}

/** Returns the delimiter that divides the first lines into the same, largest number of columns. Quoted text is skipped. */
export function detectDelimiter(text: string): string {
  const lines = sampleLines(text);
  let best: { delimiter: string; score: number } = { delimiter: ',', score: 0 };
  for (const delimiter of DELIMITERS) {
    const counts = lines.map((line) => line.split(delimiter).length - 1);
    const inHeader = counts[0] ?? 0;
    const score = inHeader * counts.filter((count) => count === inHeader).length;
    if (score > best.score) best = { delimiter, score };
  }
  return best.delimiter;
}

/** The lines of the start of a file without their quoted parts, which may contain line breaks and delimiters. */
function sampleLines(text: string): string[] {
  const unquoted = text.replace(/^\uFEFF/, '').replace(/"(?:[^"]|"")*"/g, '');
  return unquoted
    .split(/\r\n|\r|\n/)
    .filter((line) => line.trim() !== '')
    .slice(0, SAMPLE_LINES);
}
