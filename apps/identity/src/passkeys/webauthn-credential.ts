import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { decodeAttestationObject, decodeClientDataJSON, isoBase64URL } from '@simplewebauthn/server/helpers';

/** Characters of base64url. A credential id has at most 1,023 bytes. */
const MAX_ID = 1_364;
const MAX_CLIENT_DATA = 4_096;
const MAX_AUTHENTICATOR_DATA = 16_384;
const MAX_ATTESTATION = 32_768;
const MAX_SIGNATURE = 2_048;
const MAX_USER_HANDLE = 128;
const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'];

type Json = Record<string, unknown>;

/** Returns the response to a registration, without fields that are not used; null when it is malformed. */
export function readRegistration(credential: Json): RegistrationResponseJSON | null {
  const [base, response] = [readBase(credential), objectOf(credential.response)];
  const clientDataJSON = base64url(response.clientDataJSON, MAX_CLIENT_DATA);
  const attestationObject = base64url(response.attestationObject, MAX_ATTESTATION);
  if (!base || clientDataJSON === null || attestationObject === null) return null;
  const given: unknown[] = Array.isArray(response.transports) ? response.transports : [];
  const transports = TRANSPORTS.filter((transport) => given.includes(transport));
  return { ...base, response: { clientDataJSON, attestationObject, transports } };
}

/** Returns the response to a sign-in, without fields that are not used; null when it is malformed. */
export function readAssertion(credential: Json): AuthenticationResponseJSON | null {
  const [base, response] = [readBase(credential), objectOf(credential.response)];
  const clientDataJSON = base64url(response.clientDataJSON, MAX_CLIENT_DATA);
  const authenticatorData = base64url(response.authenticatorData, MAX_AUTHENTICATOR_DATA);
  const signature = base64url(response.signature, MAX_SIGNATURE);
  if (!base || clientDataJSON === null || authenticatorData === null || signature === null) return null;
  const userHandle = base64url(response.userHandle, MAX_USER_HANDLE) ?? undefined;
  return { ...base, response: { clientDataJSON, authenticatorData, signature, userHandle } };
}

/**
 * Returns the challenge that the authenticator signed, when the page was not embedded in one of another origin; null
 * otherwise.
 */
export function readChallenge({ response }: RegistrationResponseJSON | AuthenticationResponseJSON): string | null {
  try {
    const { challenge, crossOrigin, topOrigin } = decodeClientDataJSON(response.clientDataJSON);
    const isEmbedded = (crossOrigin ?? false) !== false || topOrigin !== undefined;
    return typeof challenge === 'string' && !isEmbedded ? challenge : null;
  } catch {
    return null;
  }
}

/** @throws when the attestation object is no CBOR */
export const attestationFormat = ({ response }: RegistrationResponseJSON): string =>
  decodeAttestationObject(isoBase64URL.toBuffer(response.attestationObject)).get('fmt');

function readBase(credential: Json) {
  const id = base64url(credential.id, MAX_ID);
  if (id === null || credential.rawId !== id || credential.type !== 'public-key') return null;
  return { id, rawId: id, type: 'public-key' as const, clientExtensionResults: {} };
}

const objectOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};

const base64url = (value: unknown, max: number): string | null =>
  typeof value === 'string' && value.length > 0 && value.length <= max && /^[A-Za-z0-9_-]+$/.test(value) ? value : null;
