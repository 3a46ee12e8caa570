// The test vectors of Web Authentication Level 3, section 16. Their challenges, keys, ids and flags are derived by HKDF as the section says,
// and the bytes of the ceremonies are built from them without a library; the signatures and certificates are those that it prints.
import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server';
import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  X509Certificate,
  type KeyObject,
} from 'node:crypto';
import type { Logger } from '@rmm/service-kit';
import type { IdentityConfig } from '../config.js';
import type { Passkey } from './passkey.entity.js';
import { readAssertion, readRegistration } from './webauthn-credential.js';
import { WebAuthnService } from './webauthn.service.js';

const ORIGIN = 'https://example.org';
const RP_ID = 'example.org';

interface Vector {
  title: string;
  info: string;
  algorithm: 'ES256' | 'RS256' | 'EdDSA';
  /** Fields of the client data after the origin. */
  clientData?: object;
  credentialIdLength?: number;
  /** Signature of the attestation; with a certificate of the section's authority, or else by the key itself. */
  attestation?: { signature: string; keyIdentifier?: string; certificateSignature?: string };
  /** Signature of the authentication ceremony. */
  signature: string;
  /** The flags of the vector for user verification, which the service requires. */
  userVerified: { registration: boolean; authentication: boolean };
}

const EMBEDDED = { crossOrigin: true };

const VECTORS: readonly Vector[] = [
  {
    title: '16.2 ES256 with no attestation',
    info: 'none.ES256',
    algorithm: 'ES256',
    signature:
      '3046022100f50a4e2e4409249c4a853ba361282f09841df4dd4547a13a87780218deffcd380221008480ac0f0b93538174f575bf11a1dd5d78c6e486013f937295ea13653e331e87',
    userVerified: { registration: false, authentication: false },
  },
  {
    title: '16.3 ES256 with self attestation',
    info: 'packed-self.ES256',
    algorithm: 'ES256',
    attestation: {
      signature:
        '30440220067a20754ab925005dbf378097c92120031581c73228d1fb4f5b881bcd7da98302207fc7b147558c7c0eba3af18bd9d121fa3d3a26d17fe3f220272178f473b6006d',
    },
    signature:
      '304402203310b9431903c401f1be2bdc8d23a4007682dbbddcf846994947b7f465daf84002204e94dd00047b316061b3b99772b7efd95994a83ef584b3b6b825ea3550251b66',
    userVerified: { registration: true, authentication: false },
  },
  {
    title: '16.4 ES256 with crossOrigin in the client data',
    info: 'none.ES256.crossOrigin',
    algorithm: 'ES256',
    clientData: EMBEDDED,
    signature:
      '3046022100eb12fcf23b12764c0f122e22371fab92e283879fd798f38ee1841c951b6e40e7022100c76237ff9db77b3c56f30837cda6a09acfa2e915544e609c0733b1184036d1cf',
    userVerified: { registration: true, authentication: true },
  },
  {
    title: '16.5 ES256 with topOrigin in the client data',
    info: 'none.ES256.topOrigin',
    algorithm: 'ES256',
    clientData: { ...EMBEDDED, topOrigin: 'https://example.com' },
    signature:
      '3045022100b5a70c81780d5fcc9a4f2ae9caae99058f8accaf58b91fb59329646c28ac6ffc022012e101c165db3c8e9957f0c54dd6ca9b56bc3bd2f280bd2faa6c1d02c6e5c171',
    userVerified: { registration: false, authentication: true },
  },
  {
    title: '16.6 ES256 with a credential id of 1,023 bytes',
    info: 'none.ES256.long-credential-id',
    algorithm: 'ES256',
    credentialIdLength: 1_023,
    signature:
      '304502203ecef83fb12a0cae7841055f9f87103a99fd14b424194bbf06c4623d3ee6e3fd022100d2ace346db262b1374a6b70faa51f518a42ddca13a4125ce6f5052a75bac9fb6',
    userVerified: { registration: false, authentication: true },
  },
  {
    title: '16.7 packed attestation with ES256',
    info: 'packed.ES256',
    algorithm: 'ES256',
    attestation: {
      signature:
        '304502203f19ec4b229f46ab8c45eff29b904ff10c0390dc40bf1216f04a78f4ceba3425022100fe7041a32759aff05a0f9f26c70a999c7a284451ba89234a1d3483c25e21925b',
      keyIdentifier: 'a589ba72d060842ab11f74fb246bdedab16f9b9b',
      certificateSignature:
        '304402201726b9d85ecd8a5ed51163722ca3a20886fd9b242a0aa0453d442116075defd502207ef471e530ac87961a88a7f0d0c17b091ffc6b9238d30f79f635b417be5910e7',
    },
    signature:
      '30450220694969d3ee928de6f02ef23a9c644d7d779916451734a94b432542f498a1ebe90221008b0819c824218a97152cd099c55bfb1477b29d900a49a64018314f9bfccda163',
    userVerified: { registration: true, authentication: true },
  },
  {
    title: '16.10 packed attestation with RS256',
    info: 'packed.RS256',
    algorithm: 'RS256',
    attestation: {
      signature:
        '30450221008b8c5c6ea8c142c032e0be69e1353d44461c5c9109941cdda951b976eb95b6b302204d52f406c19e254b3ff9589bd18070fb055ac8db12fdd0a6734bea9d7168e900',
      keyIdentifier: 'fb37b647bccfb9e54d989eaaacc1633868703fb3',
      certificateSignature:
        '3046022100b86bc129d92afca7d9869a39f70f139a305b4073a39eb654d81424bed5757d91022100cf9f7c60cab7c4a7d3e7f0020f281a93d4fd0a9f95121b989f56932a68885fba',
    },
    signature:
      '01063d52d7c39b4d432fc7063c5d93e582bdcb16889cd71f888d67d880ea730a428498d3bc8e1ee11f2b1ecbe6c292b118c55ffaaddefa8cad0a54dd137c51f1eec673f1bb6c4d1789d6826a222b22d0f585fc901fdc933212e579d199b89d672aa44891333e6a1355536025e82b25590256c3538229b55737083b2f6b9377e49e2472f11952f79fdd0da180b5ffd901b4049a8f081bb40711bef76c62aed943571f2d0575304cb549d68d8892f95086a30f93716aee818f8dc06e96c0d5e0ed4cfa9fd8773d90464b68cf140f7986666ff9c9e3302acd0535d60d769f465e2ab57ef8aabc89fccfef7ba32a64154a8b3d26be2298f470b8cc5377dbe3dfd4b0b45f8f01e63bde6cfc76b62771f9b70aa27cf40152cad93aa5acd784fd4b90f676e2ea828d0bf2400aebbaae4153e5838f537f88b6228346782a93a899be66ec77de45b3efcf311da6321c92e6b0cd11bfe653bf3e98cee8e341f02d67dbb6f9c98d9e8178090cfb5b70fbc6d541599ac794ae2f1d4de1286ec8de8c2daf7b1d15c8438e90d924df5c19045220a4c8438c1b979bbe016cf3d0eeec23c3999d4882cc645b776de930756612cdc6dd398160ff02a6',
    userVerified: { registration: true, authentication: false },
  },
  {
    title: '16.11 packed attestation with Ed25519',
    info: 'packed.EdDSA',
    algorithm: 'EdDSA',
    attestation: {
      signature:
        '3046022100d83f60bd80269537583218858aefb03ac57d45fa06e42feaae332d187f62da9f022100a02bd3cb6f7e1d283c93bad1f3f4b5a4c0494463da7fdbf256949116754d1f17',
      keyIdentifier: '0ae27546bc7eccb1b4b597bd354f0c0b1f1f8f8e',
      certificateSignature:
        '3046022100a0d434ecb5fc3bfd7da5f41904517ad2836249f561bd834ba7a438a8ab7a4ce8022100fac845bb7a02513b58e9f319654dbe49b0f02b95835bac568c71f8a18cdde9ab',
    },
    signature:
      'f5c59c7e46c34f6f8cc197101ddf9934fa2595f68eb1913a637e8419eb9ba4cfdfc48f85393bc0d40b011f0d6fecb097d6607525713223a0dc0d453993dae00b',
    userVerified: { registration: false, authentication: false },
  },
];

/** Values in the order of the section: each is derived with the next salt. */
class Derivation {
  private salt = 0;

  constructor(private readonly info: string) {}

  next(length: number): Buffer {
    const salt = Buffer.from([this.salt++]);
    return Buffer.from(hkdfSync('sha256', 'WebAuthn test vectors', salt, this.info, length));
  }

  byte(): number {
    return this.next(1)[0] ?? 0;
  }

  /** The client data of a ceremony; a flag of the vector adds a field that relying parties do not know. */
  clientData(type: string, challenge: Buffer, more: object = { crossOrigin: false }): Buffer {
    const extra = 'clientDataJSON may be extended with additional fields in the future, such as this: ';
    const isExtended = (this.byte() & 1) === 1;
    return Buffer.from(
      JSON.stringify({
        ...{ type, challenge: challenge.toString('base64url'), origin: ORIGIN, ...more },
        ...(isExtended && { extraData: extra + this.next(16).toString('base64url') }),
      }),
    );
  }
}

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const sha256 = (bytes: Buffer | string): Buffer => createHash('sha256').update(bytes).digest();
const point = (privateKey: Buffer): Buffer => {
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(privateKey);
  return ecdh.getPublicKey();
};

function coseKeyOf(algorithm: Vector['algorithm'], privateKey: Buffer): Buffer {
  if (algorithm === 'ES256') {
    const [x, y] = [point(privateKey).subarray(1, 33), point(privateKey).subarray(33)];
    return Buffer.concat([hex('a5010203262001215820'), x, hex('225820'), y]);
  }
  if (algorithm === 'EdDSA') {
    const der = Buffer.concat([hex('302e020100300506032b657004220420'), privateKey]);
    const { x = '' } = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export({
      format: 'jwk',
    });
    return Buffer.concat([hex('a4010103272006215820'), Buffer.from(x, 'base64url')]);
  }
  // The key of the section has the two smallest Mersenne primes from 2^1024 on.
  const modulus = (((1n << 1279n) - 1n) * ((1n << 2203n) - 1n)).toString(16);
  return Buffer.concat([hex('a401030339010020'), bytesOf(hex(modulus.padStart(872, '0'))), hex('2143010001')]);
}

/** Encodes a CBOR byte string. */
const bytesOf = (bytes: Buffer): Buffer =>
  Buffer.concat([
    bytes.length < 256
      ? Buffer.from([0x58, bytes.length])
      : Buffer.from([0x59, bytes.length >> 8, bytes.length & 0xff]),
    bytes,
  ]);

const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};

const ECDSA_SHA256 = hex('300a06082a8648ce3d040302');
const name = (unit: string): Buffer => {
  const attribute = (oid: string, tag: number, text: string) =>
    der(0x31, der(0x30, hex(oid), der(tag, Buffer.from(text))));
  return der(
    0x30,
    ...[attribute('0603550403', 0x0c, 'WebAuthn test vectors'), attribute('060355040a', 0x0c, 'W3C')],
    ...[attribute('060355040b', 0x0c, unit), attribute('0603550406', 0x13, 'AA')],
  );
};

/** Builds the attestation certificate of a vector. */
function certificateOf(serial: Buffer, publicKey: Buffer, keyIdentifier: string, signature: string): Buffer {
  const validity = der(0x30, der(0x17, Buffer.from('240101000000Z')), der(0x18, Buffer.from('30240101000000Z')));
  const extensions = hex(
    '300c0603551d130101ff04023000' +
      '300e0603551d0f0101ff040403020780' +
      `301d0603551d0e04160414${keyIdentifier}` +
      '301f0603551d2304183016801445aff715b0dd786741fee996ebc16547a3931b1e',
  );
  const isNegative = ((serial[0] ?? 0) & 0x80) !== 0;
  const body = der(
    0x30,
    ...[hex('a003020102'), der(0x02, isNegative ? Buffer.concat([hex('00'), serial]) : serial), ECDSA_SHA256],
    ...[name('Authenticator Attestation CA'), validity, name('Authenticator Attestation')],
    der(0x30, hex('301306072a8648ce3d020106082a8648ce3d030107'), der(0x03, hex('00'), publicKey)),
    der(0xa3, der(0x30, extensions)),
  );
  return der(0x30, body, ECDSA_SHA256, der(0x03, hex('00'), hex(signature)));
}

/** The key of the attestation authority of the section. */
function authorityKey(): KeyObject {
  const spki = Buffer.concat([
    hex('3059301306072a8648ce3d020106082a8648ce3d030107034200'),
    point(new Derivation('Attestation CA').next(32)),
  ]);
  return createPublicKey({ key: spki, format: 'der', type: 'spki' });
}

/** Builds both ceremonies of a vector. */
function ceremoniesOf(vector: Vector) {
  const { info, algorithm, clientData: more, credentialIdLength = 32, attestation } = vector;
  const derive = new Derivation(info);
  const challenge = derive.next(32);
  const privateKey = algorithm === 'RS256' ? Buffer.alloc(0) : derive.next(32);
  const clientData = derive.clientData('webauthn.create', challenge, more);
  const [aaguid, credentialId, flags] = [derive.next(16), derive.next(credentialIdLength), derive.byte()];
  const isEligible = (flags & 0x08) !== 0;
  const flagsOf = (bits: number) => 1 | (bits & 0x04) | (isEligible ? 0x08 | (bits & 0x10) : 0);
  const dataOf = (bits: number) => Buffer.concat([sha256(RP_ID), Buffer.from([bits, 0, 0, 0, 0])]);
  const idLength = Buffer.from([credentialId.length >> 8, credentialId.length & 0xff]);
  const publicKey = coseKeyOf(algorithm, privateKey);
  const authData = Buffer.concat([dataOf(flagsOf(flags) | 0x40), aaguid, idLength, credentialId, publicKey]);

  let statement = hex('a363666d74646e6f6e656761747453746d74a0');
  let certificate: X509Certificate | null = null;
  if (attestation) {
    const { signature, keyIdentifier, certificateSignature } = attestation;
    const parts = [hex('63616c672663736967'), bytesOf(hex(signature))];
    if (keyIdentifier !== undefined && certificateSignature !== undefined) {
      const [attestationKey, serial] = [derive.next(32), derive.next(16)];
      const built = certificateOf(serial, point(attestationKey), keyIdentifier, certificateSignature);
      certificate = new X509Certificate(built);
      parts.push(hex('6378356381'), bytesOf(built));
    }
    const entries = Buffer.from([0xa0 | (certificate ? 3 : 2)]);
    statement = Buffer.concat([hex('a363666d74667061636b65646761747453746d74'), entries, ...parts]);
  }
  const attestationObject = Buffer.concat([statement, hex('686175746844617461'), bytesOf(authData)]);

  const secondChallenge = derive.next(32);
  const secondClientData = derive.clientData('webauthn.get', secondChallenge, more);
  const authenticatorData = dataOf(flagsOf(derive.byte()));
  const text = (bytes: Buffer) => bytes.toString('base64url');
  const base = { id: text(credentialId), rawId: text(credentialId), type: 'public-key', clientExtensionResults: {} };
  return {
    certificate,
    registration: {
      challenge: text(challenge),
      credential: {
        ...base,
        response: { clientDataJSON: text(clientData), attestationObject: text(attestationObject), transports: [] },
      },
    },
    authentication: {
      challenge: text(secondChallenge),
      credential: {
        ...base,
        response: {
          clientDataJSON: text(secondClientData),
          authenticatorData: text(authenticatorData),
          signature: text(hex(vector.signature)),
        },
      },
    },
    passkey: {
      ...{ id: 'passkey', credentialId, publicKey, counter: 0, transports: [] as string[], backedUp: false },
      deviceType: isEligible ? 'multiDevice' : 'singleDevice',
    } as unknown as Passkey,
  };
}

describe('the test vectors of WebAuthn level 3', () => {
  const config = { webauthn: { rpId: RP_ID, rpName: 'RMM', origins: [ORIGIN] } } as unknown as IdentityConfig;
  const service = new WebAuthnService({ debug: () => undefined } as unknown as Logger, config);
  const expected = { expectedOrigin: ORIGIN, expectedRPID: RP_ID, requireUserVerification: false };
  const topOrigin = { expectedTopOrigin: 'https://example.com' };

  it.each(VECTORS.map((vector) => [vector.title, vector] as const))('verify: %s', async (_title, vector) => {
    const { registration, authentication, passkey, certificate } = ceremoniesOf(vector);
    const { userVerified, clientData } = vector;
    const [created, used] = [readRegistration(registration.credential), readAssertion(authentication.credential)];
    if (!created || !used) throw new Error('malformed');
    if (certificate) expect(certificate.verify(authorityKey())).toBe(true);

    // The bytes and signatures of the vector, whatever this service demands besides.
    const registered = await verifyRegistrationResponse({
      ...{ ...expected, ...topOrigin, response: created, expectedChallenge: registration.challenge },
      supportedAlgorithmIDs: [-7, -8, -257],
    });
    expect(registered).toMatchObject({ verified: true, registrationInfo: { userVerified: userVerified.registration } });
    const credential = { id: created.id, publicKey: new Uint8Array(passkey.publicKey), counter: 0 };
    const authenticated = await verifyAuthenticationResponse({
      ...{ ...expected, ...topOrigin, response: used, expectedChallenge: authentication.challenge, credential },
    });
    expect(authenticated).toMatchObject({
      verified: true,
      authenticationInfo: { userVerified: userVerified.authentication },
    });

    // The service accepts what verified its user on a page of its own.
    const stored = await service.verifyRegistration(created, registration.challenge);
    const isTopLevel = clientData === undefined;
    expect(stored !== null).toBe(userVerified.registration && isTopLevel);
    if (stored) {
      expect(stored.publicKey).toEqual(passkey.publicKey);
      expect(stored.credentialId).toEqual(passkey.credentialId);
      expect(stored.deviceType).toBe(passkey.deviceType);
    }
    const use = await service.verifyAssertion(used, authentication.challenge, passkey);
    expect(use !== null).toBe(userVerified.authentication && isTopLevel);
  });

  it.each(['signature', 'authenticatorData', 'clientDataJSON'] as const)(
    'are refused with one changed bit in the %s',
    async (field) => {
      const vector = VECTORS.find(({ info }) => info === 'packed.ES256');
      if (!vector) throw new Error('no vector');
      const { authentication, passkey } = ceremoniesOf(vector);
      const bytes = Buffer.from(authentication.credential.response[field], 'base64url');
      for (const at of [0, Math.floor(bytes.length / 2), bytes.length - 1]) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ 1;
        const response = { ...authentication.credential.response, [field]: changed.toString('base64url') };
        const used = readAssertion({ ...authentication.credential, response });
        expect(used && (await service.verifyAssertion(used, authentication.challenge, passkey))).toBeNull();
      }
    },
  );

  it('are refused with the key of another vector, and with the challenge of the other ceremony', async () => {
    const [vector, other] = ['packed.ES256', 'packed-self.ES256'].map((info) => VECTORS.find((v) => v.info === info));
    if (!vector || !other) throw new Error('no vector');
    const { registration, authentication, passkey } = ceremoniesOf(vector);
    const used = readAssertion(authentication.credential);
    if (!used) throw new Error('malformed');
    const { publicKey } = ceremoniesOf(other).passkey;
    expect(await service.verifyAssertion(used, authentication.challenge, { ...passkey, publicKey })).toBeNull();
    expect(await service.verifyAssertion(used, registration.challenge, passkey)).toBeNull();
  });
});
