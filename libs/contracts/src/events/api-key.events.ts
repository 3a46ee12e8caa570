/** `data` of `api_key.created`, `.rotated` and `.revoked`: neither the key nor its hash. @see docs/reference/events.md */
export interface ApiKeyChanged {
  apiKeyId: string;
  name: string;
  /** The first characters, which lists show as well. */
  keyPrefix: string;
  scopes: string[];
  expiresAt: string | null;
  /** The service principal that owns the key. */
  principalId: string | null;
  createdBy: string | null;
}

export const API_KEY_FIELDS = [
  'description',
  'expiresAt',
  'expiryReminders',
  'name',
  'principalId',
  'rateLimit',
  'scopes',
  'sourceCidrs',
] as const;
export type ApiKeyField = (typeof API_KEY_FIELDS)[number];

/** `data` of `api_key.updated`: the key as it is now, and the names of the fields that the change sets. */
export interface ApiKeyUpdated extends ApiKeyChanged {
  fields: ApiKeyField[];
}
