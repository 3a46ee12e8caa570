import { forEachYielding } from '@rmm/service-kit';
import type { RpcReplyBody } from './rpc-wire.js';

/** Lists with fewer items are serialized with the rest of their reply. */
const LONG_LIST = 100;
/** Short texts stay among the young objects; one of hundreds of kilobytes is allocated and freed apart. */
const PART_CHARACTERS = 32_768;
const LINE_FEED = 0x0a;

/** The positions of the first byte and after the last one. */
type Line = [from: number, to: number];

interface LongList {
  name: string;
  items: readonly unknown[];
}

/**
 * Returns the JSON of a reply. A long list in its value comes last, each item on a line of its own, so that neither side
 * blocks its event loop for all items at once.
 * @throws TypeError  for a value that JSON has no text for
 */
export async function encodeReply(body: RpcReplyBody): Promise<string | Uint8Array> {
  const list = longListOf(body.value);
  if (list === undefined) return JSON.stringify(body);
  const { name, items } = list;
  const { [name]: _, ...rest } = body.value as Record<string, unknown>;
  const frame = JSON.stringify({ value: { ...rest, [name]: [] } });
  const end = frame.length - ']}}'.length;
  const parts: Buffer[] = [];
  let text = frame.slice(0, end);
  await forEachYielding(items, (item, index) => {
    text += `\n${index === 0 ? '' : ','}${JSON.stringify(item ?? null)}`;
    if (text.length < PART_CHARACTERS) return;
    parts.push(Buffer.from(text));
    text = '';
  });
  return Buffer.concat([...parts, Buffer.from(`${text}\n${frame.slice(end)}`)]);
}

/** Reads what `encodeReply` returned, or any JSON on one line. @throws SyntaxError */
export async function decodeReply(data: Uint8Array): Promise<RpcReplyBody> {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const textOf = ([from, to]: Line) => bytes.toString('utf8', from, to);
  const [head, ...lines] = linesOf(bytes);
  const tail = lines.pop();
  const body = JSON.parse(textOf(head) + (tail ? textOf(tail) : '')) as RpcReplyBody;
  if (!tail) return body;
  const items = Object.values(body.value as object).at(-1) as unknown[];
  await forEachYielding(lines, ([from, to], index) => {
    const afterComma = index === 0 ? from : from + 1;
    items.push(JSON.parse(textOf([afterComma, to])));
  });
  return body;
}

/** Returns the longest list among the properties of an object, if it is long. An object has numbers before other names. */
function longListOf(value: unknown): LongList | undefined {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return undefined;
  return Object.entries(value)
    .filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]) && entry[1].length >= LONG_LIST)
    .filter(([name]) => !/^\d+$/.test(name))
    .map(([name, items]) => ({ name, items }))
    .sort((a, b) => b.items.length - a.items.length)[0];
}

/** Returns the lines; JSON has no line feed within a text. */
function linesOf(bytes: Buffer): Line[] {
  const lines: Line[] = [];
  let from = 0;
  for (let to = bytes.indexOf(LINE_FEED); to !== -1; to = bytes.indexOf(LINE_FEED, from)) {
    lines.push([from, to]);
    from = to + 1;
  }
  lines.push([from, bytes.length]);
  return lines;
}
