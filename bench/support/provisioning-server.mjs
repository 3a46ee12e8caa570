import { BenchServer } from './bench-server.mjs';

/**
 * Starts a replica of provisioning that takes the requests of a benchmark, which come from one address.
 * @param env  of `benchStores`
 * @param identity  the `FakeIdentity` whose tokens it accepts
 */
export function startProvisioning(env, identity) {
  return new BenchServer('provisioning-service.mjs', {
    env: {
      ...env,
      PORT: '0',
      JWKS_URL: identity.jwksUrl,
      ENROLLMENT_KEY_PEPPER: 'pepper of the benchmark',
      GLOBAL_RATE_LIMIT_PER_MINUTE: '100000',
      TRUSTED_PROXY_CIDRS: '127.0.0.0/8',
    },
  });
}
