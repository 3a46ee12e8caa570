import { isBusinessEmail } from './business-email.js';

describe('business e-mail addresses', () => {
  it('exclude free mail providers', () => {
    expect(isBusinessEmail('robin@acme.example', [])).toBe(true);
    expect(isBusinessEmail('robin@gmail.com', [])).toBe(false);
    expect(isBusinessEmail('robin@mail.gmail.com.example', [])).toBe(true);
  });

  it('include addresses and domains of the allowlist', () => {
    expect(isBusinessEmail('robin@gmail.com', ['robin@gmail.com'])).toBe(true);
    expect(isBusinessEmail('other@gmail.com', ['robin@gmail.com'])).toBe(false);
    expect(isBusinessEmail('other@gmail.com', ['gmail.com'])).toBe(true);
  });
});
