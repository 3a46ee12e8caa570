import type { AccessScope } from '@rmm/contracts';
import type { ApiKeyScope, PartnerScope, Permission } from '@rmm/permissions';

/** Credential and rights that a route requires. Every route has exactly one. */
export type RouteAccess =
  | { kind: 'permission'; permissions: readonly Permission[] }
  | { kind: 'signed-in' }
  | { kind: 'public'; optionalBearer?: true }
  | { kind: 'api-key'; scopes: readonly ApiKeyScope[] }
  | { kind: 'partner-key'; scopes: readonly PartnerScope[] }
  | { kind: 'agent-token' }
  | { kind: 'scim-token' };

/** Additional checks of a route, and checks that it skips. */
export interface RouteConstraints {
  mfa?: boolean;
  scopes?: readonly AccessScope[];
  fullPartnerAccess?: boolean;
  keysOnly?: boolean;
  uncharged?: boolean;
  skipTenantStatus?: boolean;
  skipMfaEnrollment?: boolean;
  skipFallbackAudit?: boolean;
}

export const ROUTE_ACCESS = 'rmm:access:route';
export const ROUTE_CONSTRAINTS = 'rmm:access:constraints';

type RouteDecorator = ClassDecorator & MethodDecorator;

/** Adds a route access to a method, or to a class for all its routes. A second one is kept: the start rejects it. */
const access = (added: RouteAccess): RouteDecorator =>
  annotate((target) => {
    const others = (Reflect.getOwnMetadata(ROUTE_ACCESS, target) ?? []) as RouteAccess[];
    Reflect.defineMetadata(ROUTE_ACCESS, [...others, added], target);
  });

const constrain = (added: RouteConstraints): RouteDecorator =>
  annotate((target) => {
    const others = (Reflect.getOwnMetadata(ROUTE_CONSTRAINTS, target) ?? {}) as RouteConstraints;
    Reflect.defineMetadata(ROUTE_CONSTRAINTS, { ...others, ...added }, target);
  });

const annotate =
  (write: (target: object) => void) =>
  (target: object, _key?: string | symbol, descriptor?: PropertyDescriptor): void =>
    write((descriptor?.value as object | undefined) ?? target);

/** Requires a user whose role grants all of these permissions; otherwise 403 `permission_denied`. */
export const RequirePermission = (...permissions: [Permission, ...Permission[]]) =>
  access({ kind: 'permission', permissions });

/** Requires a signed-in user with any permissions. */
export const SignedIn = () => access({ kind: 'signed-in' });

/**
 * Requires no credential; `@CurrentCaller()` is undefined.
 * @param options  `optionalBearer` documents that the handler also accepts a signed-in user (`UserAuthenticator.identify`)
 */
export const Public = (options: { optionalBearer?: true } = {}) => access({ kind: 'public', ...options });

/**
 * Requires an API key with at least one of these scopes, or a user whose role grants a permission with the name of one
 * of them. Without scopes, every API key is accepted and no user is. `X-API-Key` takes precedence over a bearer token.
 * `@RequireMfa()` on the same route applies to users only.
 */
export const AcceptsApiKey = (...scopes: ApiKeyScope[]) => access({ kind: 'api-key', scopes });

/** Requires a partner key with all of these scopes. Methods other than GET and HEAD count in the window for writes. */
export const PartnerKey = (...scopes: PartnerScope[]) => access({ kind: 'partner-key', scopes });

/** Requires the bearer token of an agent. */
export const AgentToken = () => access({ kind: 'agent-token' });

/** Requires the bearer token of a SCIM client. */
export const ScimToken = () => access({ kind: 'scim-token' });

/** Requires a session in which the user has verified a second factor; otherwise 403 `mfa_required`. */
export const RequireMfa = () => constrain({ mfa: true });

/** Requires one of these scopes of the user's session; otherwise 403 `scope_not_allowed`. */
export const AllowScopes = (...scopes: [AccessScope, ...AccessScope[]]) => constrain({ scopes });

/** Requires `orgAccess` `all` of partner members; otherwise 403 `full_partner_access_required`. */
export const FullPartnerAccess = () => constrain({ fullPartnerAccess: true });

/** Restricts an `@AcceptsApiKey` route to keys: users get 401 `invalid_api_key`. */
export const KeysOnly = () => constrain({ keysOnly: true });

/** Does not charge a `@PartnerKey` route to the limit of the key. The route needs a limit of its own. */
export const Uncharged = () => constrain({ uncharged: true });

/** Skips the check that the tenant is active, for routes that users of a suspended tenant still need. */
export const SkipTenantStatus = () => constrain({ skipTenantStatus: true });

/** Skips the check that the user has enrolled a second factor (428), for routes that enroll one. */
export const SkipMfaEnrollment = () => constrain({ skipMfaEnrollment: true });

/**
 * Skips the audit row that a successful POST, PUT, PATCH or DELETE gets when its handler wrote none. For routes that
 * change nothing, such as previews, and for frequent reports of agents.
 */
export const SkipFallbackAudit = () => constrain({ skipFallbackAudit: true });
