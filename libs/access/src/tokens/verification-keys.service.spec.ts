import { signingKey } from '../../test/tokens.js';
import type { AccessSources } from '../access-sources.service.js';
import type { AccessConfig } from '../access.config.js';
import type { VerificationKeys } from '../access.tokens.js';
import { VerificationKeysService } from './verification-keys.service.js';

const key = signingKey('first');

function serviceOf(source: Partial<VerificationKeys>) {
  const verificationKeys = { find: () => Promise.resolve(key.publicKey), ...source };
  return new VerificationKeysService({ verificationKeys } as unknown as AccessSources, {} as AccessConfig);
}

describe('VerificationKeysService', () => {
  afterEach(() => jest.useRealTimers());

  it('refuses a withdrawn key although the source still lists it, and notifies the listeners', async () => {
    const service = serviceOf({});
    const withdrawn: string[][] = [];
    service.onWithdrawn((kids) => withdrawn.push(kids));
    expect(await service.find('first')).not.toBeNull();
    service.withdraw(['first']);
    expect(await service.find('first')).toBeNull();
    expect(await service.find('second')).not.toBeNull();
    expect(withdrawn).toEqual([['first']]);
  });

  it('reads the keys at once after a withdrawal and again a second later', () => {
    jest.useFakeTimers();
    const reload = jest.fn(() => Promise.reject(new Error('away')));
    serviceOf({ reload }).withdraw(['first']);
    expect(reload).toHaveBeenCalledTimes(1);
    jest.advanceTimersByTime(1_000);
    expect(reload).toHaveBeenCalledTimes(2);
  });

  it('passes on what the source no longer lists', () => {
    let listener: (kids: string[]) => void = () => undefined;
    const service = serviceOf({ onWithdrawn: (added) => (listener = added) });
    const withdrawn: string[][] = [];
    service.onWithdrawn((kids) => withdrawn.push(kids));
    service.onApplicationBootstrap();
    listener(['second']);
    expect(withdrawn).toEqual([['second']]);
  });
});
