import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export type SignatureAlgorithm = 'ES256' | 'RS256' | 'EdDSA';

/** Parts of a ceremony that a spec may change. */
export interface CeremonyOverrides {
  origin?: string;
  rpId?: string;
  /** Base64url; that of the options unless given. */
  challenge?: string;
  type?: string;
  crossOrigin?: boolean;
  topOrigin?: string;
  userPresent?: boolean;
  userVerified?: boolean;
  counter?: number;
  backupEligible?: boolean;
  backedUp?: boolean;
  /** Id in the response; that of the credential unless given. */
  id?: string;
  userHandle?: string | null;
  /** Changes the signed bytes. */
  authenticatorData?: (bytes: Buffer) => Buffer;
  signature?: (bytes: Buffer) => Buffer;
}

export interface RegistrationOverrides extends CeremonyOverrides {
  algorithm?: SignatureAlgorithm;
  attestation?: 'none' | 'packed';
  rsaBits?: number;
  credentialId?: Buffer;
  /** Replaces entries of the COSE key. */
  coseKey?: (key: Map<number, CborValue>) => Map<number, CborValue>;
  attestationObject?: (bytes: Buffer) => Buffer;
}

/** The parts of the options that an authenticator needs. */
export interface CreationOptions {
  challenge: string;
  rp: { id?: string };
  user: { id: string };
  excludeCredentials?: readonly { id: string }[];
}

export interface RequestOptions {
  challenge: string;
  rpId?: string;
  allowCredentials?: readonly { id: string }[];
}

interface StoredCredential {
  id: string;
  rpId: string;
  privateKey: KeyObject;
  algorithm: SignatureAlgorithm;
  userHandle: string;
  counter: number;
  backupEligible: boolean;
  backedUp: boolean;
}

export interface CredentialJson extends Record<string, unknown> {
  id: string;
  rawId: string;
  type: string;
  response: Record<string, unknown>;
}

const AAGUID = Buffer.alloc(16);
const FLAGS = { userPresent: 0x01, userVerified: 0x04, backupEligible: 0x08, backedUp: 0x10, attested: 0x40 };

/**
 * A browser with an authenticator in software, for specs: creates credentials and signs challenges as WebAuthn says, with
 * one or another part changed by the spec.
 */
export class SoftwareAuthenticator {
  readonly credentials: StoredCredential[] = [];

  /** @param origin  of the page */
  constructor(
    private readonly origin: string,
    private readonly defaults: CeremonyOverrides = {},
  ) {}

  /** Creates a credential, as `navigator.credentials.create` does. @returns the JSON form of the result */
  create(options: CreationOptions, given: RegistrationOverrides = {}): CredentialJson {
    const overrides = { ...this.defaults, ...given };
    const { algorithm = 'ES256', attestation = 'none', credentialId = randomBytes(32) } = overrides;
    const keys = createKeys(algorithm, overrides.rsaBits);
    const credential: StoredCredential = {
      id: credentialId.toString('base64url'),
      rpId: options.rp.id ?? new URL(this.origin).hostname,
      privateKey: keys.privateKey,
      algorithm,
      userHandle: options.user.id,
      counter: overrides.counter ?? 0,
      backupEligible: overrides.backupEligible ?? false,
      backedUp: overrides.backedUp ?? false,
    };
    this.credentials.push(credential);

    const cose = overrides.coseKey ? overrides.coseKey(keys.cose) : keys.cose;
    const length = Buffer.alloc(2);
    length.writeUInt16BE(credentialId.length);
    const attested = Buffer.concat([AAGUID, length, credentialId, encodeCbor(cose)]);
    const data = this.authenticatorData(credential, overrides, attested);
    const clientData = this.clientData('webauthn.create', options.challenge, overrides);
    const attStmt = new Map<string, CborValue>();
    if (attestation === 'packed') {
      attStmt.set('alg', COSE_ALGORITHMS[algorithm]);
      attStmt.set('sig', signWith(credential, Buffer.concat([data, sha256(clientData)])));
    }
    const object = encodeCbor(
      new Map<string, CborValue>([
        ['fmt', attestation],
        ['attStmt', attStmt],
        ['authData', data],
      ]),
    );
    return this.toJson(credential, overrides, {
      clientDataJSON: clientData.toString('base64url'),
      attestationObject: (overrides.attestationObject?.(object) ?? object).toString('base64url'),
      transports: ['internal'],
    });
  }

  /** Signs a challenge, as `navigator.credentials.get` does, with the newest credential that the options allow. */
  get(options: RequestOptions, given: CeremonyOverrides = {}): CredentialJson {
    const overrides = { ...this.defaults, ...given };
    const allowed = options.allowCredentials?.map(({ id }) => id);
    const credential = this.credentials.findLast(({ id }) => !allowed || allowed.includes(id));
    if (!credential) throw new Error('the authenticator has no credential for these options');
    const data = this.authenticatorData(credential, overrides);
    const clientData = this.clientData('webauthn.get', options.challenge, overrides);
    const signature = signWith(credential, Buffer.concat([data, sha256(clientData)]));
    const { userHandle = credential.userHandle } = overrides;
    return this.toJson(credential, overrides, {
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: (overrides.signature?.(signature) ?? signature).toString('base64url'),
      ...(userHandle !== null && { userHandle }),
    });
  }

  private clientData(type: string, challenge: string, overrides: CeremonyOverrides): Buffer {
    const { origin = this.origin, crossOrigin = false, topOrigin } = overrides;
    const data = {
      type: overrides.type ?? type,
      challenge: overrides.challenge ?? challenge,
      origin,
      crossOrigin,
      topOrigin,
    };
    return Buffer.from(JSON.stringify(data));
  }

  private authenticatorData(credential: StoredCredential, overrides: CeremonyOverrides, attested?: Buffer): Buffer {
    const { backupEligible = credential.backupEligible, backedUp = credential.backedUp } = overrides;
    const { userPresent = true, userVerified = true } = overrides;
    const set = { userPresent, userVerified, backupEligible, backedUp, attested: attested !== undefined };
    const flags = Object.entries(set).reduce(
      (bits, [name, on]) => (on ? bits | FLAGS[name as keyof typeof FLAGS] : bits),
      0,
    );
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(overrides.counter ?? credential.counter);
    const rpIdHash = sha256(Buffer.from(overrides.rpId ?? credential.rpId));
    const data = Buffer.concat([rpIdHash, Buffer.from([flags]), counter, attested ?? Buffer.alloc(0)]);
    return overrides.authenticatorData?.(data) ?? data;
  }

  private toJson({ id: own }: StoredCredential, overrides: CeremonyOverrides, response: object): CredentialJson {
    const id = overrides.id ?? own;
    return {
      id,
      rawId: id,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      clientExtensionResults: {},
      response: { ...response },
    };
  }
}

const COSE_ALGORITHMS: Record<SignatureAlgorithm, number> = { ES256: -7, EdDSA: -8, RS256: -257 };

function createKeys(algorithm: SignatureAlgorithm, rsaBits = 2_048) {
  const pair =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : algorithm === 'EdDSA'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('rsa', { modulusLength: rsaBits });
  const jwk = pair.publicKey.export({ format: 'jwk' });
  const bytes = (text: string | undefined) => Buffer.from(text ?? '', 'base64url');
  const alg = COSE_ALGORITHMS[algorithm];
  const entries: Record<SignatureAlgorithm, [number, CborValue][]> = {
    ES256: [[1, 2], [3, alg], [-1, 1], [-2, bytes(jwk.x)], [-3, bytes(jwk.y)]], // prettier-ignore
    EdDSA: [[1, 1], [3, alg], [-1, 6], [-2, bytes(jwk.x)]], // prettier-ignore
    RS256: [[1, 3], [3, alg], [-1, bytes(jwk.n)], [-2, bytes(jwk.e)]], // prettier-ignore
  };
  return { privateKey: pair.privateKey, cose: new Map(entries[algorithm]) };
}

const signWith = ({ privateKey, algorithm }: StoredCredential, data: Buffer): Buffer =>
  sign(algorithm === 'EdDSA' ? null : 'sha256', data, privateKey);

const sha256 = (data: Buffer): Buffer => createHash('sha256').update(data).digest();

export type CborValue = number | string | Buffer | readonly CborValue[] | Map<number | string, CborValue> | CborMap;
type CborMap = Map<string, CborValue> | Map<number, CborValue>;

/** Encodes the part of CBOR (RFC 8949) that attestations use: integers, texts, bytes, arrays and maps. */
export function encodeCbor(value: CborValue): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (value instanceof Map) {
    const entries = [...(value as Map<number | string, CborValue>)].flatMap(([key, item]) => [
      encodeCbor(key),
      encodeCbor(item),
    ]);
    return Buffer.concat([head(5, value.size), ...entries]);
  }
  return Buffer.concat([head(4, value.length), ...value.map(encodeCbor)]);
}

function head(major: number, length: number): Buffer {
  const type = major << 5;
  if (length < 24) return Buffer.from([type | length]);
  if (length < 0x100) return Buffer.from([type | 24, length]);
  if (length < 0x1_0000) return Buffer.from([type | 25, length >> 8, length & 0xff]);
  const bytes = Buffer.alloc(5);
  bytes[0] = type | 26;
  bytes.writeUInt32BE(length, 1);
  return bytes;
}
