import { SiteAccessDenied } from '@rmm/access';

/** Nobody gives, or takes from, a wider reach than their own; null is a reach without limit. @throws SiteAccessDenied */
export function assertWithin(own: readonly string[] | null, other: readonly string[] | null): void {
  if (own !== null && !other?.every((id) => own.includes(id))) throw new SiteAccessDenied();
}
