import { dialHosts, overHttps, parsed } from '../test/dialled-hosts.js';
import { corpus } from '../test/vectors.js';
import { AddressRules } from './address-rules.js';

interface UrlRow {
  input: string;
  base?: string | null;
  failure?: boolean;
}
interface HostRow {
  input: string;
  /** Null where the input is no host. */
  output: string | null;
}
type Attribute = 'protocol' | 'username' | 'password' | 'host' | 'hostname' | 'port' | 'pathname' | 'search' | 'hash';
interface SetterRow {
  href: string;
  new_value: string;
  expected: { href?: string };
}

/** Comments stand among the rows, as texts. */
const rows = <T extends object>(file: string) =>
  corpus<(string | T)[]>(file).filter((row): row is T => typeof row === 'object');

const urls = rows<UrlRow>('wpt-url/urltestdata.json');
const toAscii = rows<HostRow>('wpt-url/toascii.json');
const idna = rows<HostRow>('wpt-url/IdnaTestV2.json');
const formerIdna = rows<HostRow>('wpt-url/IdnaTestV2-removed.json');
const lengths = rows<UrlRow>('ada-url/verifydnslength_tests.json');
const setters = Object.entries(corpus<Record<string, SetterRow[]>>('wpt-url/setters_tests.json'))
  .filter(([attribute]) => attribute !== 'comment')
  .flatMap(([attribute, ofOne]) => ofOne.map((row) => ({ ...row, attribute: attribute as Attribute })));

const MODES = [
  ['hosted', true],
  ['self-hosted', false],
] as const;
const hosted = new AddressRules({ isHosted: true });
const selfHosted = new AddressRules({ isHosted: false });

/** As `IdnaTestV2.window.js` does: what would end the host is written so that it does not. */
const urlOf = (host: string) => `https://${host.replace(/[:/?#\\]/g, (end) => encodeURIComponent(end))}/x`;
const nameOf = (host: string) => parsed(urlOf(host))?.hostname ?? null;

/** A URL after its setter, which is how a text is made that no parser has seen. */
function afterSetting(href: string, attribute: Attribute, value: string): string {
  const url = new URL(href);
  url[attribute] = value;
  return url.href;
}

/** The texts of a file, with https in the place of http besides, so that more than a scheme is judged. */
const CORPORA = {
  'urltestdata.json': urls.flatMap(({ input, base }) => [input, parsed(input, base)?.href ?? input]),
  'toascii.json': toAscii.flatMap(({ input, output }) => [`https://${input}/`, `https://${output ?? input}./x`]),
  'IdnaTestV2.json': [...idna, ...formerIdna].flatMap(({ input, output }) => [
    urlOf(input),
    urlOf(`${output ?? input}.`),
  ]),
  'setters_tests.json': setters.flatMap(({ href, attribute, new_value, expected }) => [
    href,
    expected.href ?? href,
    afterSetting(href, attribute, new_value),
    afterSetting('https://hooks.example.com:8443/a?b', attribute, new_value),
    ...(attribute.startsWith('host') ? [`https://${new_value}/`] : []),
  ]),
};

/** What must at least have been invalid, refused and dialled, or the rows would prove nothing; Node 20, 22 and 24 differ. */
const FLOORS: Record<keyof typeof CORPORA, [invalid: number, refused: number, dialled: number]> = {
  'urltestdata.json': [400, 500, 150],
  'toascii.json': [30, 25, 40],
  'IdnaTestV2.json': [1_800, 200, 450],
  'setters_tests.json': [20, 150, 140],
};

describe('hosts of the web-platform-tests', () => {
  it('are all here', () => {
    const counts = [urls, toAscii, idna, formerIdna, setters, lengths].map((of) => of.length);
    expect(counts).toEqual([878, 87, 2_671, 20, 278, 17]);
  });

  describe.each(Object.entries(CORPORA))('of %s', (file, given) => {
    const texts = new Set(given.flatMap((text) => [text, overHttps(text)]));

    it.each(MODES)('are dialled as they were judged, %s', async (_mode, isHosted) => {
      const { counts, wrong } = await dialHosts(isHosted, texts);
      expect(wrong).toEqual([]);
      const [invalid, refused, dialled] = FLOORS[file as keyof typeof CORPORA];
      expect(counts.invalid).toBeGreaterThan(invalid);
      expect(counts.refused).toBeGreaterThan(refused);
      expect(counts.dialled).toBeGreaterThan(dialled);
    });
  });

  // Where it differs, Node is of another edition of Unicode, or takes an A-label that decodes to nothing for a name.
  it.each([
    ['toascii.json', toAscii, 75],
    ['IdnaTestV2.json', idna, 1_800],
    ['IdnaTestV2-removed.json', formerIdna, 15],
  ])('of %s have the names it gives', (_file, given, floor) => {
    expect(given.filter(({ input, output }) => nameOf(input) === output).length).toBeGreaterThan(floor);
  });

  it.each(urls.filter(mustFail).map(({ input }) => [input]))('refuse %j, which must fail to parse', (input) => {
    expect(hosted.checkUrl(input).allowed).toBe(false);
    expect(selfHosted.checkUrl(input).allowed).toBe(false);
  });
});

describe('names that are too long for DNS', () => {
  it.each(lengths.map(({ input, failure }) => [overHttps(input), failure ? 'refused' : 'allowed'] as const))(
    '%s is %s',
    (url, expected) => {
      expect(hosted.checkUrl(url).allowed ? 'allowed' : 'refused').toBe(expected);
    },
  );
});

/** Alone, as we read it, not against its base. Newer Nodes find a name in an A-label that decodes to nothing. */
function mustFail({ input, base, failure }: UrlRow): boolean {
  return failure === true && !parsed('x', base) && !/xn--/i.test(input);
}
