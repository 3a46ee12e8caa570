import { ValidationError } from '@rmm/service-kit';

/** Is this the name of a time zone, `Europe/Berlin` or `UTC`? Offsets are none. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** For an optional field. @throws ValidationError */
export function assertTimeZone(timezone: string | undefined): void {
  if (timezone !== undefined && !isTimeZone(timezone))
    throw ValidationError.of('timezone', 'must be an IANA time zone');
}
