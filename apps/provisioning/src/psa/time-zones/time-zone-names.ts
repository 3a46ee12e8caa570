import { isTimeZone } from '@rmm/validation';
import { WINDOWS_ZONES } from './windows-zones.constants.js';

const BY_LOWER_CASE = new Map([...WINDOWS_ZONES].map(([name, zone]) => [name.toLowerCase(), zone]));
/** The offset before the name that Windows shows: `(UTC+01:00) Amsterdam, Berlin`, and before labels: `GMT+1/CET: `. */
const OFFSET = /^\(?(?:utc|gmt)[^)]*\)\s*/i;

/** Returns the IANA time zone of a name of IANA or Windows, also with an offset in front; null for any other text. */
export function toTimeZone(label: string): string | null {
  for (const name of [label, label.replace(OFFSET, '')]) {
    const zone = BY_LOWER_CASE.get(name.trim().toLowerCase());
    if (zone !== undefined) return zone;
    if (name.includes('/') || name === 'UTC') {
      if (isTimeZone(name)) return name;
    }
  }
  return null;
}
