/** Shorter texts without a separator are not examined. */
const MIN_CANDIDATE = 32;
/** The part of a candidate that looks random has at least this many characters. */
const MIN_RUN = 16;

/** Pairs of letters that are frequent in words and names of European languages; random letters have few of them. */
const FREQUENT_PAIRS = new Set(
  (
    'ab ac ad af ag ai ak al am an ap ar as at au av aw ay az ba be bi bl bo br bu by ca cc ce ch ci ck cl co cr cs ct cu cy ' +
    'da dd de di do dr ds du dy ea ec ed ee ef eg ei ek el em en eo ep er es et eu ev ew ex ey fa fe ff fi fl fo fr ft fu ' +
    'ga ge gh gi gl gn go gr gs gu ha he hi ho hr ht hu ia ib ic id ie if ig ik il im in io ip ir is it iv iz ja jo ju ka ke ' +
    'ki kl ko kr ks ku la lb ld le lf li ll lo ls lt lu ly ma mb me mi mm mo mp ms mu my na nc nd ne nf ng ni nk nn no ns nt ' +
    'nu ny oa ob oc od of og oi ok ol om on oo op or os ot ou ov ow oy pa pe ph pi pl po pp pr ps pt pu qu ra rb rc rd re rf ' +
    'rg ri rk rl rm rn ro rp rr rs rt ru rv rw ry sa sc se sh si sk sl sm sn so sp sq ss st su sw sy ta te th ti to tr ts tt ' +
    'tu tw ty ub uc ud ue uf ug ui ul um un up ur us ut va ve vi vo wa we wh wi wn wo wr xp ye yn yo ys yt za ze zi zo'
  ).split(' '),
);

/** A window of `MIN_RUN` characters with more ordinary pairs does not look random. */
const MAX_ORDINARY_PAIRS = 6;
/** Hexadecimal digits look random with this many changes between digits and letters in a window. */
const MIN_HEX_CHANGES = 4;

const CANDIDATE = /[A-Za-z0-9+/=_.~-]{32,}/g;
const RUN = /[A-Za-z0-9]{16,}/g;
const HEX = /^(?:[0-9a-f]+|[0-9A-F]+)$/;

/** Checksums of files are no secrets: `SHA256: 9f86...`. */
const CHECKSUM_LABEL =
  /(?:sha-?(?:1|224|256|384|512)|md5|checksum|hash|thumbprint|fingerprint|integrity|digest|etag|commit|revision)["'`)\]]{0,2}[\s:=]{0,4}["'`]?$/i;
const CHECKSUM_LENGTHS = new Set([32, 40, 56, 64, 96, 128]);
const LABEL_CHARACTERS = 32;

/** Returns true for a text in which 16 characters or more look random, inside of 32 or more without a blank. */
export function hasRandomText(text: string): boolean {
  if (text.length < MIN_CANDIDATE) return false;
  for (const { 0: candidate, index } of text.matchAll(CANDIDATE)) {
    if (isChecksum(candidate, text.slice(Math.max(0, index - LABEL_CHARACTERS), index))) continue;
    for (const { 0: run, index: at } of candidate.matchAll(RUN)) {
      if (!isAssemblyToken(candidate, run, at) && looksRandom(run)) return true;
    }
  }
  return false;
}

function isChecksum(candidate: string, before: string): boolean {
  return CHECKSUM_LENGTHS.has(candidate.length) && HEX.test(candidate) && CHECKSUM_LABEL.test(before);
}

/** The names of Windows components contain hashes of 16 digits: `..._31bf3856ad364e35_10.0.1_...`. */
function isAssemblyToken(candidate: string, run: string, at: number): boolean {
  const around = candidate.charAt(at - 1) + candidate.charAt(at + run.length);
  return run.length === MIN_RUN && HEX.test(run) && /[_~]/.test(around);
}

/** Returns true when some window of 16 characters of a run looks random. */
function looksRandom(run: string): boolean {
  const ordinary = Array.from(run, (_, index) => (index > 0 && isOrdinaryPair(run, index) ? 1 : 0));
  const isHex = HEX.test(run);
  let count: number = ordinary.slice(1, MIN_RUN).reduce<number>((sum, one) => sum + one, 0);
  for (let end = MIN_RUN; ; end += 1) {
    if (isHex ? isRandomHex(run, end) : count <= MAX_ORDINARY_PAIRS) return true;
    if (end >= run.length) return false;
    count += ordinary[end] - ordinary[end - MIN_RUN + 1];
  }
}

/**
 * Returns true for two characters that words and numbers have: two digits, a frequent pair of letters, a letter twice, and
 * where a word ends: `eDr` in `SafeDriver`, `n11` in `Win11`, `4Up` in `64Update`.
 */
function isOrdinaryPair(run: string, index: number): boolean {
  const [first, second] = [run.charAt(index - 1), run.charAt(index)];
  if (isDigit(second)) return isDigit(first) || isLower(run, index - 2, index - 1);
  if (isUpper(second) && !isUpper(first)) {
    return isLower(run, index + 1, index + 2) && (isDigit(first) || isLower(run, index - 2, index - 1));
  }
  return first === second || FREQUENT_PAIRS.has((first + second).toLowerCase());
}

const isLower = (run: string, ...indexes: number[]): boolean =>
  indexes.every((index) => /[a-z]/.test(run.charAt(index)));
const isUpper = (character: string): boolean => character >= 'A' && character <= 'Z';

function isRandomHex(run: string, end: number): boolean {
  let changes = 0;
  for (let index = end - MIN_RUN + 1; index < end; index += 1) {
    if (isDigit(run.charAt(index)) !== isDigit(run.charAt(index - 1))) changes += 1;
  }
  return changes >= MIN_HEX_CHANGES;
}

function isDigit(character: string): boolean {
  return character >= '0' && character <= '9';
}
