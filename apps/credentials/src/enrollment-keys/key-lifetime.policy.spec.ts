import { checkedExpiry, initialExpiry } from './key-lifetime.policy.js';

const NOW = Date.parse('2026-03-01T00:00:00Z');
const after = (minutes: number) => new Date(NOW + minutes * 60_000);
const rules = { nowMs: NOW, capMinutes: null, defaultMinutes: 43_200 };
const capped = { ...rules, capMinutes: 60 };

describe('lifetime of an enrollment key', () => {
  it('is the default unless requested, limited to the cap', () => {
    expect(initialExpiry({}, rules)).toEqual(after(43_200));
    expect(initialExpiry({}, capped)).toEqual(after(60));
    expect(initialExpiry({}, { ...capped, defaultMinutes: 5 })).toEqual(after(5));
  });

  it('is the requested one, up to the cap', () => {
    expect(initialExpiry({ ttlMinutes: 60 }, capped)).toEqual(after(60));
    expect(initialExpiry({ expiresAt: after(60) }, capped)).toEqual(after(60));
    expect(() => initialExpiry({ ttlMinutes: 61 }, capped)).toThrow(
      expect.objectContaining({ code: 'enrollment_ttl_exceeds_cap' }),
    );
    expect(() => checkedExpiry(new Date(after(60).getTime() + 1), capped)).toThrow(
      expect.objectContaining({ code: 'enrollment_ttl_exceeds_cap' }),
    );
  });

  it('refuses an expiry that is not in the future', () => {
    for (const expiresAt of [after(0), after(-1)]) {
      expect(() => checkedExpiry(expiresAt, rules)).toThrow(
        expect.objectContaining({ fieldErrors: { expiresAt: ['lies in the past'] } }),
      );
    }
    expect(checkedExpiry(new Date(NOW + 1), rules)).toEqual(new Date(NOW + 1));
  });
});
