import type { Clock } from '@rmm/service-kit';
import type { AccessSources } from '../src/access-sources.service.js';
import type { AccessConfig } from '../src/access.config.js';
import type { AccessSource, KeySource, VerificationKeys } from '../src/access.tokens.js';
import { InvalidationFeed } from '../src/invalidation/invalidation-feed.js';
import type { InvalidationFeeds } from '../src/invalidation/invalidation-feeds.service.js';
import { JwtAuthGuard } from '../src/tokens/jwt-auth.guard.js';
import { JwtStrategy } from '../src/tokens/jwt.strategy.js';
import { TokenVerifier } from '../src/tokens/token-verifier.service.js';
import type { VerificationKeysService } from '../src/tokens/verification-keys.service.js';
import { VerifiedTokens } from '../src/tokens/verified-tokens.service.js';
import { AUDIENCE, ISSUER } from './tokens.js';

export const CONFIG: AccessConfig = {
  jwtIssuer: ISSUER,
  jwtAudience: AUDIENCE,
  publicAppUrl: 'https://app.example',
  service: 'webhook-dispatcher',
  organizations: 'table',
  partners: 'none',
};

/** Sources that return what the spec gives them. */
export const fakeSources = (sources: { access?: AccessSource; keys?: KeySource }) => sources as AccessSources;

/** Feeds that are alive for thirty seconds, and after each heartbeat. */
export function fakeFeeds(clock: Clock): InvalidationFeeds {
  const options = { clock, maxSilenceMs: 30_000, onGap: () => undefined };
  const feeds = {
    access: new InvalidationFeed(options),
    credentials: new InvalidationFeed(options),
    organizations: new InvalidationFeed(options),
  };
  return feeds as InvalidationFeeds;
}

type FakeKeys = VerificationKeys & { onWithdrawn?: VerificationKeysService['onWithdrawn'] };

/** A verifier with passport and real signatures, and the public keys of the spec. */
export function buildTokenVerifier(keys: FakeKeys, clock: Clock): TokenVerifier {
  const service = { onWithdrawn: () => undefined, ...keys } as unknown as VerificationKeysService;
  const guard = new JwtAuthGuard(new JwtStrategy(service, CONFIG));
  return new TokenVerifier(guard, new VerifiedTokens(clock), clock, service);
}
