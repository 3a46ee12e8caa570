import { OutboundFailed, UnsafeAddress } from '../src/outbound.errors.js';
import { Outbound } from '../src/outbound.service.js';
import { recordDials } from './dials.js';

export interface DialledHosts {
  /** Number of texts that Node cannot parse, that were refused, and that were dialled. */
  counts: { invalid: number; refused: number; dialled: number };
  /** Texts for which the guarantee of `dialHosts` was violated. */
  wrong: unknown[];
}

/** Parses a text by the URL parser of this Node, as undici does; versions of Unicode differ. */
export function parsed(text: string, base?: string | null): URL | null {
  try {
    return base ? new URL(text, base) : new URL(text);
  } catch {
    return null;
  }
}

export const overHttps = (url: string): string => url.replace(/^http:/, 'https:');

/**
 * Posts to each text, with every name at 8.8.8.8. Checks that a text that does not parse is refused as invalid
 * URL, and that for all others the checked, the dialled and the parsed host are the same, or nothing is sent.
 */
export async function dialHosts(isHosted: boolean, texts: Iterable<string>): Promise<DialledHosts> {
  const dials = recordDials();
  const asked: string[] = [];
  const resolve = (host: string) => (asked.push(host), Promise.resolve(['8.8.8.8']));
  const outbound = new Outbound({ isHosted, resolver: { resolve }, pools: { maxOrigins: 50 } });
  const counts = { invalid: 0, refused: 0, dialled: 0 };
  const wrong: unknown[] = [];
  for (const text of texts) {
    dials.dialled.length = asked.length = 0;
    const check = outbound.rules.checkUrl(text);
    const error: unknown = await outbound
      .post({ url: text, timeoutMs: 2_000, maxResponseBytes: 10 })
      .catch((caught: unknown) => caught);
    const url = parsed(text);
    const host = url?.hostname.replace(/^\[|\]$|\.$/g, '');
    const said = JSON.stringify(error instanceof UnsafeAddress ? error.reasons : null);
    if (!url) {
      counts.invalid += 1;
      if (said !== '["it is not a valid URL"]' || check.allowed) wrong.push({ text, said });
    } else if (error instanceof UnsafeAddress) {
      counts.refused += 1;
      if (dials.dialled.length > 0 || error.reasons.length === 0) wrong.push({ text, said });
    } else {
      counts.dialled += 1;
      const literal = check.allowed ? check.literal : 'refused before';
      const isRight =
        error instanceof OutboundFailed &&
        (literal === null
          ? asked.join() === host && dials.dialled.join() === '8.8.8.8'
          : literal === host && dials.dialled.join() === host && asked.length === 0);
      if (!isRight) wrong.push({ text, host, asked: [...asked], dialled: [...dials.dialled], error: String(error) });
    }
  }
  dials.stop();
  await outbound.close();
  return { counts, wrong };
}
