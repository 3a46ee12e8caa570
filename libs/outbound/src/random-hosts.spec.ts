import { recordDials } from '../test/dials.js';
import { Outbound } from './outbound.service.js';

const SEED = 20_240_601;
const ROUNDS = 4_000;

/** Addresses by the modes that may dial them; listed by hand, so that the tested code does not define the expectation. */
const PUBLIC = ['8.8.8.8', '1.1.1.1', '100.128.0.1', '172.32.0.1', '2606:4700::1111', '2a00:1450:4001::1'];
const PRIVATE = ['10.0.0.1', '172.16.5.4', '192.168.1.1', 'fd12:3456::1', 'fc00::1'];
const NEVER = [
  ...['0.0.0.0', '127.0.0.1', '127.255.255.254', '169.254.169.254', '100.64.0.1', '100.100.100.200', '168.63.129.16'],
  ...['192.0.0.192', '192.0.2.1', '192.88.99.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1'],
  ...['255.255.255.255', '::', '::1', 'fe80::1', 'fec0::1', 'ff02::1', '2001:db8::1', 'fd00:ec2::254', 'fd20:ce::254'],
  ...['::7f00:1', '::ffff:0:7f00:1', '64:ff9b:1::808:808', '2606:4700::5efe:7f00:1', 'fe80::1%eth0', 'not an address'],
];
const EVERY = [...PUBLIC, ...PRIVATE, ...NEVER];

/** Mulberry32: the same numbers on every machine. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const random = randomFrom(SEED);
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)];
const chance = (share: number) => random() < share;

/** A part of an IPv4 address in one of the bases the URL parser reads. */
const part = (value: number) =>
  pick([
    String(value),
    `0x${value.toString(16)}`,
    `0X${value.toString(16)}`,
    `0${value.toString(8)}`,
    `000${value.toString(8)}`,
  ]);

function spellIPv4(address: string): string {
  const bytes = address.split('.').map(Number);
  const kept = Math.floor(random() * 4);
  const rest = bytes.slice(kept).reduce((sum, byte) => sum * 256 + byte, 0);
  return [...bytes.slice(0, kept), rest].map(part).join('.');
}

function spellIPv6(address: string): string {
  const spelt = chance(0.5) ? address.toUpperCase() : address;
  return `[${spelt}]`;
}

/** An IPv4 address inside an IPv6 one, which leads to the same place. */
function embed(address: string): string {
  const [a, b, c, d] = address.split('.').map(Number);
  const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  return pick([`[::ffff:${hex}]`, `[::ffff:${address}]`, `[64:ff9b::${hex}]`, `[2002:${hex}::1]`, `[::${hex}]`]);
}

const FULL_WIDTH = (text: string) => text.replace(/[0-9a-z]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0));
const PERCENT = (text: string) =>
  text.replace(/[0-9a-z]/g, (c) => (chance(0.5) ? `%${c.charCodeAt(0).toString(16)}` : c));
const DOTS = (text: string) => text.replaceAll('.', pick(['。', '．', '｡', '%2e']));
const SPRINKLED = (text: string) => {
  const at = Math.floor(random() * text.length);
  return text.slice(0, at) + pick(['\t', '\n', '\u00ad', '\u200b', '\0', ' ', '%00', '\u202e']) + text.slice(at);
};

const NAMES = [
  'hooks.example.com',
  'localhost',
  'a.localhost',
  'printer.local',
  'redis',
  'x.internal',
  'a..b',
  'bücher.example',
];

function host(): string {
  const address = pick(EVERY);
  const isIPv4 = /^[\d.]+$/.test(address);
  let text = pick(NAMES);
  if (chance(0.6)) text = isIPv4 ? (chance(0.3) ? embed(address) : spellIPv4(address)) : spellIPv6(address);
  for (const disguise of [FULL_WIDTH, PERCENT, DOTS, SPRINKLED]) if (chance(0.12)) text = disguise(text);
  return text + (chance(0.15) ? pick(['.', '..', '%2e', '。']) : '');
}

function url(): string {
  const scheme = pick(['https://', 'https://', 'http://', 'https:', 'https:\\\\', 'HTTP:/', 'ftp://', ' https://']);
  const user = chance(0.2) ? pick(['a@', 'a:b@', '8.8.8.8@', '8.8.8.8:443@', 'a%40b@', '@', '8.8.8.8\\@']) : '';
  const port = chance(0.3) ? pick([':443', ':80', ':0', ':8443', ':', ':65536', ':+1']) : '';
  return scheme + user + host() + port + pick(['', '/', '/a?b#c', '#@8.8.8.8', '?@8.8.8.8', '\\@8.8.8.8']);
}

const randomResponses = () =>
  Array.from({ length: Math.floor(random() * 4) }, () => pick(chance(0.7) ? [...PUBLIC, ...PRIVATE] : EVERY));

/** Returns the embedded IPv4 address of a dialled address, or the address itself. */
function ends(address: string): string {
  const carried = /^(?:::ffff:|64:ff9b::)([0-9a-f]+):([0-9a-f]+)$|^2002:([0-9a-f]+):([0-9a-f]+)::1$/.exec(address);
  if (!carried) return address;
  const [high, low] = carried
    .slice(1)
    .filter(Boolean)
    .map((hex) => Number.parseInt(hex, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

describe.each([
  ['hosted', true, PUBLIC],
  ['self-hosted', false, [...PUBLIC, ...PRIVATE]],
])('random hosts, %s', (_mode, isHosted, allowed) => {
  it(`dials what it may and nothing else, over ${ROUNDS} URLs`, async () => {
    const dials = recordDials();
    let now: string[] = [];
    const outbound = new Outbound({
      isHosted,
      resolver: { resolve: () => Promise.resolve(now) },
      pools: { maxOrigins: 50 },
    });
    const dialledAddresses = new Set<string>();
    const wrong: unknown[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const target = url();
      now = randomResponses();
      dials.dialled.length = 0;
      const error: unknown = await outbound
        .post({ url: target, timeoutMs: 2_000, maxResponseBytes: 10 })
        .catch((caught: unknown) => caught);
      const went = dials.dialled.map(ends);
      went.forEach((address) => dialledAddresses.add(address));
      const isPlain = dials.dialled.length > 0 && new URL(target).protocol === 'http:';
      const may = isPlain ? (isHosted ? [] : PRIVATE) : allowed;
      const isRight = went.length > 0 ? went.every((address) => may.includes(address)) : isRefusal(error);
      if (!isRight) wrong.push({ target, answers: now, dialled: [...dials.dialled], error: String(error) });
    }
    dials.stop();
    await outbound.close();
    expect(wrong).toEqual([]);
    // Or the rounds would prove nothing: every allowed address was dialled.
    expect([...dialledAddresses].sort()).toEqual([...allowed].sort());
  });
});

const isRefusal = (error: unknown) => error instanceof Error && error.name === 'UnsafeAddress';
