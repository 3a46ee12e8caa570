import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type GeneralNameType,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { webcrypto } from 'node:crypto';

/** Certificate of a server and its private key; PEM. */
export interface Identity {
  cert: string;
  key: string;
}

export interface Claims {
  /** The host it is for. */
  host: string;
  type?: GeneralNameType;
  notBefore?: Date;
  notAfter?: Date;
  /** Not to be shown by a server. */
  isForClients?: boolean;
}

const DAY_MS = 86_400_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
export const daysFromNow = (days: number): Date => new Date(Date.now() + days * DAY_MS);

/** Signs certificates for servers. Clients trust it only when it is added to their authorities. */
export class Authority {
  private constructor(
    readonly name: string,
    private readonly keys: webcrypto.CryptoKeyPair,
    /** PEM, as `NODE_EXTRA_CA_CERTS` reads it. */
    readonly cert: string,
  ) {}

  static async create(commonName: string): Promise<Authority> {
    const name = `CN=${commonName}`;
    const keys = await newKeys();
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name,
      keys,
      signingAlgorithm: ALGORITHM,
      notBefore: daysFromNow(-30),
      notAfter: daysFromNow(30),
      extensions: [new BasicConstraintsExtension(true, undefined, true)],
    });
    return new Authority(name, keys, certificate.toString('pem'));
  }

  async issue(claims: Claims): Promise<Identity> {
    const keys = await newKeys();
    return identity(keys, await sign(claims, keys, { name: this.name, keys: this.keys }));
  }
}

/** Self-signed. */
export async function selfSigned(claims: Claims): Promise<Identity> {
  const keys = await newKeys();
  return identity(keys, await sign(claims, keys, { name: `CN=${claims.host}`, keys }));
}

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

async function sign(
  claims: Claims,
  { publicKey }: webcrypto.CryptoKeyPair,
  issuer: { name: string; keys: webcrypto.CryptoKeyPair },
): Promise<string> {
  const certificate = await X509CertificateGenerator.create({
    subject: `CN=${claims.host}`,
    issuer: issuer.name,
    publicKey,
    signingKey: issuer.keys.privateKey,
    signingAlgorithm: ALGORITHM,
    notBefore: claims.notBefore ?? daysFromNow(-2),
    notAfter: claims.notAfter ?? daysFromNow(2),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new ExtendedKeyUsageExtension([claims.isForClients ? ExtendedKeyUsage.clientAuth : ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([{ type: claims.type ?? 'dns', value: claims.host }]),
    ],
  });
  return certificate.toString('pem');
}

async function identity({ privateKey }: webcrypto.CryptoKeyPair, cert: string): Promise<Identity> {
  const key = await webcrypto.subtle.exportKey('pkcs8', privateKey);
  return { cert, key: PemConverter.encode(key, 'PRIVATE KEY') };
}
