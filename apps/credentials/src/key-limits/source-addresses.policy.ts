/** Returns whether a list of CIDR ranges allows an address that the one before may not; an empty list allows every one. */
export function hasMoreAddresses(before: readonly string[], after: readonly string[]): boolean {
  if (before.length === 0) return false;
  return after.length === 0 || after.some((cidr) => !before.includes(cidr));
}
