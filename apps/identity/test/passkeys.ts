import {
  SoftwareAuthenticator,
  type CredentialJson,
  type RegistrationOverrides,
} from '@rmm/testing/software-authenticator';
import {
  expectStatus,
  PASSWORD,
  type CallOptions,
  type IdentityReplica,
  type TestResponse,
} from './identity-test-app.js';
import { sessionOf } from './users.js';

/** The origin of the web application in specs. */
export const APP_ORIGIN = 'https://app.test';

export const newAuthenticator = (): SoftwareAuthenticator => new SoftwareAuthenticator(APP_ORIGIN);

export interface RegisteredPasskey {
  id: string;
  authenticator: SoftwareAuthenticator;
  recoveryCodes?: string[];
  bearer: string;
  cookies: Record<string, string>;
}

/** Requests the options for a new passkey. */
export async function registrationOptions(identity: IdentityReplica, caller: CallOptions, body: object = {}) {
  const path = '/auth/passkeys/register/options';
  const response = await identity.post(path, { currentPassword: PASSWORD, ...body }, caller);
  return expectStatus(response, 200).body.options as Parameters<SoftwareAuthenticator['create']>[0];
}

export const finishRegistration = (
  identity: IdentityReplica,
  caller: CallOptions,
  credential: CredentialJson,
  body: object = {},
): Promise<TestResponse> => identity.post('/auth/passkeys/register/verify', { credential, ...body }, caller);

/** Registers a passkey of a user; the returned session has satisfied MFA. */
export async function registerPasskey(
  identity: IdentityReplica,
  caller: CallOptions,
  authenticator = newAuthenticator(),
  overrides: RegistrationOverrides = {},
): Promise<RegisteredPasskey> {
  const credential = authenticator.create(await registrationOptions(identity, caller), overrides);
  const registered = expectStatus(await finishRegistration(identity, caller, credential), 200);
  const { passkey, recoveryCodes } = registered.body;
  return { id: passkey.id as string, recoveryCodes, authenticator, ...sessionOf(registered) };
}

/** Requests the options to sign in with a passkey alone. */
export async function signInOptions(identity: IdentityReplica) {
  const { body } = expectStatus(await identity.post('/auth/passkeys/login/options', {}), 200);
  return body.options as Parameters<SoftwareAuthenticator['get']>[0];
}

export const signIn = (identity: IdentityReplica, credential: object, body: object = {}): Promise<TestResponse> =>
  identity.post('/auth/passkeys/login/verify', { credential, ...body });
