/** Every PSA that a connection may be to; `jira` has no companies. @see docs/reference/provisioning.md#psa */
export const PSA_PROVIDERS = [
  'connectwise',
  'autotask',
  'servicenow',
  'freshservice',
  'zendesk',
  'halopsa',
  'syncro',
  'jira',
] as const;
export type PsaProvider = (typeof PSA_PROVIDERS)[number];

/** The credentials of a provider by name. Secret ones are sealed and never returned. */
interface CredentialFields {
  public: readonly string[];
  secret: readonly string[];
  /** Names without which no request can be sent. */
  required: readonly string[];
}

const fields = (shown: string[], secret: string[], optional: string[] = []): CredentialFields => ({
  public: ['baseUrl', ...shown],
  secret,
  required: ['baseUrl', ...shown, ...secret].filter((name) => !optional.includes(name)),
});

export const CREDENTIAL_FIELDS: Readonly<Record<PsaProvider, CredentialFields>> = {
  connectwise: fields(['companyId', 'publicKey', 'clientId'], ['privateKey'], ['clientId']),
  autotask: fields(['username'], ['secret', 'integrationCode']),
  servicenow: fields(['username'], ['password']),
  freshservice: fields([], ['apiKey']),
  zendesk: fields(['email'], ['apiToken']),
  halopsa: fields(['clientId', 'scope', 'tenant'], ['clientSecret'], ['scope', 'tenant']),
  syncro: fields([], ['apiToken']),
  jira: fields(
    ['email', 'username'],
    ['apiToken', 'personalAccessToken', 'password'],
    ['email', 'username', 'apiToken', 'personalAccessToken', 'password'],
  ),
};

/** Credentials by name, as a connection has them once its secrets are opened. */
export type PsaCredentials = Readonly<Record<string, string>>;
