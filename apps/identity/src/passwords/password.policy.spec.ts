import { WeakPassword } from './password.errors.js';
import { assertStrongPassword } from './password.policy.js';

const owner = { email: 'robin.smith@example.com', name: 'Robin Smith' };
const refusal = async (password: string) => {
  try {
    await assertStrongPassword(password, owner);
    return null;
  } catch (error) {
    if (!(error instanceof WeakPassword)) throw error;
    return error.message;
  }
};

describe('assertStrongPassword', () => {
  it.each(['abcdefg', '1234567', ''])('refuses fewer than eight characters: %s', async (password) => {
    expect(await refusal(password)).toContain('at least 8');
  });

  it('counts characters instead of bytes and refuses more than 128', async () => {
    expect(await refusal('🐎🔋📎🌵🦆🎺🧭🪁')).toBeNull();
    expect(await refusal('k7#'.repeat(43))).toContain('at most 128');
  });

  it.each(['password', 'Password1', 'iloveyou', 'qwertyuiop', '1234567890'])(
    'refuse the common %s',
    async (password) => {
      expect(await refusal(password)).toMatch(/common|guess/);
    },
  );

  it.each(['robin.smith@example.com', 'Robin.Smith', 'robin smith', 'RobinSmith1'])(
    'refuse what names the owner: %s',
    async (password) => {
      expect(await refusal(password)).toContain('e-mail address or name');
    },
  );

  it('refuses passwords that are easy to guess', async () => {
    expect(await refusal('abcabcabc')).toMatch(/guess|common/);
  });

  it.each(['violet umbrella tango', 'gtxkqzmwpvhrbnlj', 'correct-horse-battery-7'])(
    'ask for no composition: %s',
    async (password) => {
      expect(await refusal(password)).toBeNull();
    },
  );
});
