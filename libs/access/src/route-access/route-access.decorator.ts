import type { AccessScope } from '@rmm/contracts';
import type { ApiKeyScope, PartnerScope, Permission } from '@rmm/permissions';

/** How a route may be entered. Every route has exactly one. @see ARCHITECTURE.md 3 */
export type RouteAccess =
  | { kind: 'permission'; permissions: readonly Permission[] }
  | { kind: 'signed-in' }
  | { kind: 'public' }
  | { kind: 'api-key'; scopes: readonly ApiKeyScope[] }
  | { kind: 'partner-key'; scopes: readonly PartnerScope[] }
  | { kind: 'agent-token' };

/** What makes a door narrower, or leaves one of its checks out. */
export interface RouteConstraints {
  mfa?: boolean;
  scopes?: readonly AccessScope[];
  fullPartnerAccess?: boolean;
  keysOnly?: boolean;
  skipTenantStatus?: boolean;
  skipMfaEnrollment?: boolean;
  skipFallbackAudit?: boolean;
}

export const ROUTE_ACCESS = 'rmm:access:doors';
export const ROUTE_CONSTRAINTS = 'rmm:access:narrowing';

type RouteDecorator = ClassDecorator & MethodDecorator;

/** A door on a method, or on a class for all its routes. */
const door = (made: RouteAccess): RouteDecorator =>
  annotate((holder) => {
    const others = (Reflect.getOwnMetadata(ROUTE_ACCESS, holder) ?? []) as RouteAccess[];
    Reflect.defineMetadata(ROUTE_ACCESS, [...others, made], holder);
  });

const narrow = (by: RouteConstraints): RouteDecorator =>
  annotate((holder) => {
    const others = (Reflect.getOwnMetadata(ROUTE_CONSTRAINTS, holder) ?? {}) as RouteConstraints;
    Reflect.defineMetadata(ROUTE_CONSTRAINTS, { ...others, ...by }, holder);
  });

const annotate =
  (write: (holder: object) => void) =>
  (target: object, _key?: string | symbol, descriptor?: PropertyDescriptor): void =>
    write((descriptor?.value as object | undefined) ?? target);

/** A user token whose role holds all of these. 403 `permission_denied` otherwise. */
export const RequirePermission = (...permissions: [Permission, ...Permission[]]) =>
  door({ kind: 'permission', permissions });

/** Any live user token. */
export const SignedIn = () => door({ kind: 'signed-in' });

/** No credential is asked for; `@CurrentCaller()` is undefined. */
export const Public = () => door({ kind: 'public' });

/**
 * An API key with at least one of these scopes, or a user token whose role holds at least one permission of the same
 * name. Without scopes any API key passes, and no user token does. `X-API-Key` wins over a bearer token.
 * `@RequireMfa()` beside it binds users only. @see SPEC.md 5.2
 */
export const AcceptsApiKey = (...scopes: ApiKeyScope[]) => door({ kind: 'api-key', scopes });

/** A partner key with all of these scopes; calls other than GET are charged to the write window. @see CONTRACT.md 4.4.1 */
export const PartnerKey = (...scopes: PartnerScope[]) => door({ kind: 'partner-key', scopes });

/** The bearer token of an agent. */
export const AgentToken = () => door({ kind: 'agent-token' });

/** The session must have verified a factor: 403 `mfa_required`. @see CONTRACT.md 5.4 */
export const RequireMfa = () => narrow({ mfa: true });

/** Open to these scopes of a user token only: 403 `scope_not_allowed`. */
export const AllowScopes = (...scopes: [AccessScope, ...AccessScope[]]) => narrow({ scopes });

/** Closed to partner members with `orgAccess` other than `all`: 403 `full_partner_access_required`. */
export const FullPartnerAccess = () => narrow({ fullPartnerAccess: true });

/** Closes an `@AcceptsApiKey` door to user tokens: without a key, 401 `invalid_api_key`. */
export const KeysOnly = () => narrow({ keysOnly: true });

/** Leaves step 5 of CONTRACT.md 2.4 out: the routes a suspended tenant still needs. */
export const SkipTenantStatus = () => narrow({ skipTenantStatus: true });

/** Leaves the 428 gate of CONTRACT.md 5.2 out: the routes that lead to a factor. */
export const SkipMfaEnrollment = () => narrow({ skipMfaEnrollment: true });

/**
 * Leaves out the audit row a successful POST, PUT, PATCH or DELETE gets when its handler wrote none: for calls that
 * change nothing, such as previews, and for reports of machines that come by the minute. @see CONTRACT.md 1.7
 */
export const SkipFallbackAudit = () => narrow({ skipFallbackAudit: true });
