import type { AttributeMapping } from './sso-provider.entity.js';

export interface SsoPreset {
  id: string;
  name: string;
  type: 'oidc';
  /** The issuer, with placeholders in braces. */
  issuerTemplate: string;
  scopes: string;
  attributeMapping: AttributeMapping;
}

export const DEFAULT_SCOPES = 'openid profile email';
export const DEFAULT_MAPPING: AttributeMapping = { email: 'email', name: 'name' };

const STANDARD: AttributeMapping = { ...DEFAULT_MAPPING, firstName: 'given_name', lastName: 'family_name' };

/** Settings of well-known identity providers. @see docs/guides/single-sign-on.md */
export const SSO_PRESETS: readonly SsoPreset[] = [
  {
    id: 'azure-ad',
    name: 'Microsoft Entra ID',
    type: 'oidc',
    issuerTemplate: 'https://login.microsoftonline.com/{tenantId}/v2.0',
    scopes: DEFAULT_SCOPES,
    attributeMapping: { ...STANDARD, groups: 'groups' },
  },
  {
    id: 'okta',
    name: 'Okta',
    type: 'oidc',
    issuerTemplate: 'https://{domain}.okta.com',
    scopes: 'openid profile email groups',
    attributeMapping: { ...STANDARD, groups: 'groups' },
  },
  {
    id: 'google',
    name: 'Google Workspace',
    type: 'oidc',
    issuerTemplate: 'https://accounts.google.com',
    scopes: DEFAULT_SCOPES,
    attributeMapping: STANDARD,
  },
  {
    id: 'auth0',
    name: 'Auth0',
    type: 'oidc',
    issuerTemplate: 'https://{domain}.auth0.com/',
    scopes: DEFAULT_SCOPES,
    attributeMapping: STANDARD,
  },
];

export const PRESET_IDS = SSO_PRESETS.map(({ id }) => id);
