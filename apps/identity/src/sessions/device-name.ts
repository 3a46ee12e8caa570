import Bowser from 'bowser';

/** Short forms of names. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  'Microsoft Edge': 'Edge',
  'Samsung Internet for Android': 'Samsung Internet',
  'Chrome OS': 'ChromeOS',
};

/** Bowser takes the name of an unknown browser from the user agent; mails contain the name, so only known ones count. */
const KNOWN_BROWSERS = new Set<string>(Object.values(Bowser.BROWSER_MAP));

/** A program that is no browser names itself first: `curl/8.5.0`. */
const PROGRAM = /^([A-Za-z][A-Za-z0-9_-]{1,29})(?:\/|\s|$)/;
const UNKNOWN = 'Unknown device';

/**
 * Returns browser and operating system of a user agent (`Firefox on Windows`, `Chrome on iPhone`), or the name of a
 * program (`curl`). Without versions, so that an update of a browser does not make it another device.
 */
export function deviceName(userAgent: string | null | undefined): string {
  if (!userAgent) return UNKNOWN;
  const { browser, os, platform } = Bowser.parse(userAgent);
  const system = os.name === 'iOS' ? platform.model : os.name;
  const names = [browser.name && KNOWN_BROWSERS.has(browser.name) && browser.name, system];
  const known = names
    .filter((name) => typeof name === 'string' && name !== '')
    .map((name) => shortenName(name as string));
  if (known.length > 0) return known.join(' on ');
  const program = PROGRAM.exec(userAgent)?.[1];
  return program && program !== 'Mozilla' ? program : UNKNOWN;
}

const shortenName = (name: string): string => SHORT_NAMES[name] ?? name;
