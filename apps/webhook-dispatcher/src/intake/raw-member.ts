const STRUCTURAL = /["{}[\]]/g;
const BLANK = /\S/g;

/**
 * Returns the text of a member of a JSON object exactly as it was written: parsing and printing it again would change
 * large numbers.
 * @param json  the valid text of an object
 * @returns the last member of that name, as `JSON.parse` does; null without one
 */
export function rawMember(json: string, name: string): string | null {
  let found: string | null = null;
  let position = json.indexOf('{') + 1;
  while (position > 0 && position < json.length) {
    const keyStart = json.indexOf('"', position);
    if (keyStart === -1) break;
    const keyEnd = endOfString(json, keyStart);
    const start = nextVisible(json, json.indexOf(':', keyEnd) + 1);
    const end = endOfValue(json, start);
    if (JSON.parse(json.slice(keyStart, keyEnd)) === name) found = json.slice(start, end).trimEnd();
    position = end + 1;
  }
  return found;
}

/** Returns the position after a value that begins at `start`: that of a comma or of the end of the object. */
function endOfValue(json: string, start: number): number {
  const first = json.charAt(start);
  if (first === '"') return afterValue(json, endOfString(json, start));
  if (first !== '{' && first !== '[') return afterValue(json, start);
  let depth = 0;
  STRUCTURAL.lastIndex = start;
  for (let match = STRUCTURAL.exec(json); match; match = STRUCTURAL.exec(json)) {
    if (match[0] === '"') STRUCTURAL.lastIndex = endOfString(json, match.index);
    else if (match[0] === '{' || match[0] === '[') depth += 1;
    else if ((depth -= 1) === 0) return afterValue(json, match.index + 1);
  }
  return json.length;
}

function afterValue(json: string, from: number): number {
  for (let i = from; i < json.length; i += 1) if (json.charAt(i) === ',' || json.charAt(i) === '}') return i;
  return json.length;
}

/** Returns the position after a string that begins at `start`. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json.charAt(end - 1 - backslashes) === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return json.length;
}

function nextVisible(json: string, from: number): number {
  BLANK.lastIndex = from;
  return BLANK.exec(json)?.index ?? json.length;
}
