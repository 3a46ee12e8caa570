import { hasMoreAddresses } from './source-addresses.policy.js';

const OFFICE = '192.0.2.0/24';
const BRANCH = '198.51.100.0/24';

describe('hasMoreAddresses', () => {
  it.each([
    ['a range is added', [OFFICE], [OFFICE, BRANCH]],
    ['a range is replaced', [OFFICE], [BRANCH]],
    ['the last range is removed, which allows every address', [OFFICE], []],
  ])('returns true when %s', (_, before, after) => {
    expect(hasMoreAddresses(before, after)).toBe(true);
  });

  it.each([
    ['nothing changes', [OFFICE, BRANCH], [BRANCH, OFFICE]],
    ['a range is removed and another stays', [OFFICE, BRANCH], [OFFICE]],
    ['every address was allowed and a range is added', [], [OFFICE]],
    ['every address stays allowed', [], []],
  ])('returns false when %s', (_, before: string[], after: string[]) => {
    expect(hasMoreAddresses(before, after)).toBe(false);
  });
});
