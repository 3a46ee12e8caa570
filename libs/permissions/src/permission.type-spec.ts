import type { ApiKeyScope, PartnerScope } from './scopes.js';
import type { Permission } from './vocabulary.js';

/*
 * Compile-time checks: each line below an `@ts-expect-error` must not compile. `tsc -b` fails when one of them does.
 */

export const known: Permission[] = ['devices:read', '*:*'];

// @ts-expect-error the only wildcard is *:*
export const wildcardAction: Permission = 'devices:*';

// @ts-expect-error misspelt action
export const misspeltAction: Permission = 'devices:raed';

// @ts-expect-error misspelt resource
export const misspeltResource: Permission = 'device:read';

// @ts-expect-error action of another resource
export const foreignAction: Permission = 'sso:read';

// @ts-expect-error a permission that is not a scope of API keys
export const unknownApiKeyScope: ApiKeyScope = 'sites:read';

// @ts-expect-error a scope of API keys that is not a scope of partner principals
export const unknownPartnerScope: PartnerScope = 'devices:write';
