import { FixedClock } from '@rmm/testing-services';
import { claims } from '../../test/tokens.js';
import { VerifiedTokens } from './verified-tokens.service.js';

describe('VerifiedTokens', () => {
  let clock: FixedClock;
  let tokens: VerifiedTokens;

  beforeEach(() => {
    clock = new FixedClock();
    tokens = new VerifiedTokens(clock);
  });

  it('returns the claims of the same token only', () => {
    const own = claims(clock.nowMs());
    tokens.store('one', own, 'key-1');
    expect(tokens.find('one')).toBe(own);
    expect(tokens.find('onf')).toBeNull();
  });

  it('forgets a token once it has expired', () => {
    tokens.store('one', claims(clock.nowMs()), 'key-1');
    clock.advance(900_000 + 29_000);
    expect(tokens.find('one')).not.toBeNull();
    clock.advance(1_000);
    expect(tokens.find('one')).toBeNull();
    clock.advance(-60_000);
    expect(tokens.find('one')).toBeNull();
  });

  it('removes the tokens of withdrawn keys and keeps the others', () => {
    tokens.store('old', claims(clock.nowMs()), 'key-1');
    tokens.store('new', claims(clock.nowMs()), 'key-2');
    tokens.removeSignedBy(['key-1', 'key-0']);
    expect(tokens.find('old')).toBeNull();
    expect(tokens.find('new')).not.toBeNull();
  });
});
