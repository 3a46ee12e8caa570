import { ValidationError } from '@rmm/service-kit';
import { mergeSiteSettings } from './site-settings.policy.js';

const day = (text: string) => new Date(`${text}T00:00:00Z`);

describe('mergeSiteSettings', () => {
  it('merges per key and removes with null', () => {
    expect(mergeSiteSettings({ a: 1, b: 2 }, { b: null, c: 3 }, {})).toEqual({ a: 1, c: 3 });
  });

  it('keeps fields of the contract that a request does not name', () => {
    const stored = { contract: { contractStart: '2026-01-01T00:00:00.000Z', billingContact: { name: 'B' } } };
    const merged = mergeSiteSettings(stored, undefined, {
      contractEnd: day('2027-01-01'),
      billingContact: { email: 'b@acme.example', phone: undefined },
    });
    expect(merged).toEqual({
      contract: {
        contractStart: '2026-01-01T00:00:00.000Z',
        contractEnd: '2027-01-01T00:00:00.000Z',
        billingContact: { name: 'B', email: 'b@acme.example' },
      },
    });
  });

  it('removes an empty contract', () => {
    const stored = { contract: { billingContact: { name: 'B' } } };
    expect(mergeSiteSettings(stored, undefined, { billingContact: { name: null } })).toEqual({});
    expect(mergeSiteSettings(stored, undefined, { billingContact: null })).toEqual({});
  });

  it.each([
    ['a contract in the settings', {}, { contract: {} }, {}, 'settings.contract'],
    [
      'an end before the start',
      {},
      {},
      { contractStart: day('2027-01-01'), contractEnd: day('2026-01-01') },
      'contractEnd',
    ],
    ['more than 64 KB after the merge', { a: 'x'.repeat(40_000) }, { b: 'x'.repeat(40_000) }, {}, 'settings'],
  ])('refuses %s', (_, stored, changes, contract, field) => {
    try {
      mergeSiteSettings(stored, changes, contract);
      throw new Error('not refused');
    } catch (error) {
      expect(error).toBeInstanceOf(ValidationError);
      expect(Object.keys((error as ValidationError).fieldErrors ?? {})).toEqual([field]);
    }
  });
});
