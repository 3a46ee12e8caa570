import { SiteAccessDenied } from '@rmm/access';

/**
 * Checks that a restriction to sites or device groups is no wider than the caller's own; null is no restriction.
 * @throws SiteAccessDenied
 */
export function assertNotWider(own: readonly string[] | null, other: readonly string[] | null): void {
  if (own !== null && !other?.every((id) => own.includes(id))) throw new SiteAccessDenied();
}
