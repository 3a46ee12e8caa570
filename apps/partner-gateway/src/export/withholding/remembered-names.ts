const MAX_NAMES = 10_000;
/** Longer names are checked each time, so that the names of a tenant fill no memory. */
const MAX_CHARACTERS = 64;

/** Returns a check of names that remembers its results: the records of a list have the same fields. */
export function rememberNames(check: (name: string) => boolean): (name: string) => boolean {
  const known = new Map<string, boolean>();
  return (name) => {
    const remembered = known.get(name);
    if (remembered !== undefined) return remembered;
    const result = check(name);
    if (name.length > MAX_CHARACTERS) return result;
    if (known.size >= MAX_NAMES) known.clear();
    known.set(name, result);
    return result;
  };
}
