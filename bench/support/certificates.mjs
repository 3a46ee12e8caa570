// Creates the certificates of the receivers that the benchmarks call over TLS.
import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { webcrypto } from 'node:crypto';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;

/** Creates an authority and a certificate for a host. @returns PEM; `ca` is what NODE_EXTRA_CA_CERTS reads */
export async function createCertificate(host) {
  const [authority, server] = await Promise.all([newKeys(), newKeys()]);
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const ca = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=Benchmarks',
    keys: authority,
    signingAlgorithm: ALGORITHM,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
    ...validity,
  });
  const certificate = await X509CertificateGenerator.create({
    subject: `CN=${host}`,
    issuer: ca.subject,
    publicKey: server.publicKey,
    signingKey: authority.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: host }])],
    ...validity,
  });
  const key = PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', server.privateKey), 'PRIVATE KEY');
  return { ca: ca.toString('pem'), cert: certificate.toString('pem'), key };
}

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
