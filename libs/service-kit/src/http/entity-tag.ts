/**
 * Returns true when `If-None-Match` names an entity tag, or `*`. Tags are compared weakly, as RFC 9110 wants for it.
 * @param tag  with its quotes; `W/"..."` when weak
 */
export function matchesEntityTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const wanted = opaqueTag(tag);
  return ifNoneMatch.split(',').some((given) => given.trim() === '*' || opaqueTag(given) === wanted);
}

function opaqueTag(tag: string): string {
  return tag.trim().replace(/^W\//, '');
}
