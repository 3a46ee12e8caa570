/** Returns whether a NATS subject matches a pattern with `*` (one token) and `>` (the rest). */
export function subjectMatches(pattern: string, subject: string): boolean {
  if (pattern === subject) return true;
  const wanted = pattern.split('.');
  const given = subject.split('.');
  for (let i = 0; i < wanted.length; i++) {
    if (wanted[i] === '>') return given.length > i;
    if (i >= given.length || (wanted[i] !== '*' && wanted[i] !== given[i])) return false;
  }
  return wanted.length === given.length;
}

/** Removes patterns that another one covers, since the server refuses overlapping filters. */
export function withoutOverlaps(patterns: readonly string[]): string[] {
  const unique = [...new Set(patterns)];
  return unique.filter((pattern) => !unique.some((other) => other !== pattern && subjectMatches(other, pattern)));
}
