import { readAssertion, readChallenge, readRegistration } from './webauthn-credential.js';

const clientData = (data: object) => Buffer.from(JSON.stringify(data)).toString('base64url');
const base = { id: 'QUJD', rawId: 'QUJD', type: 'public-key' };
const registration = {
  ...base,
  response: { clientDataJSON: 'e30', attestationObject: 'oA', transports: ['usb', 'carrier-pigeon', 7] },
};
const assertion = { ...base, response: { clientDataJSON: 'e30', authenticatorData: 'AAAA', signature: 'AAAA' } };

describe('readRegistration', () => {
  it('keeps what is used and drops the rest', () => {
    const given = {
      ...registration,
      authenticatorAttachment: 'platform',
      clientExtensionResults: { large: 'x' },
      extra: 1,
    };
    expect(readRegistration(given)).toEqual({
      ...base,
      clientExtensionResults: {},
      response: { clientDataJSON: 'e30', attestationObject: 'oA', transports: ['usb'] },
    });
  });

  it.each([
    ['no response', { ...base }],
    ['a response that is a list', { ...base, response: [] }],
    ['another raw id', { ...registration, rawId: 'QUJE' }],
    ['another type', { ...registration, type: 'password' }],
    ['an id in base64 with padding', { ...registration, id: 'QUI=', rawId: 'QUI=' }],
    ['an id of 2,000 characters', { ...registration, id: 'A'.repeat(2_000), rawId: 'A'.repeat(2_000) }],
    ['an attestation object of 40,000 characters', { ...registration, response: { ...registration.response, attestationObject: 'A'.repeat(40_000) } }], // prettier-ignore
    ['client data that are no text', { ...registration, response: { ...registration.response, clientDataJSON: {} } }],
  ])('refuses %s', (_, credential) => {
    expect(readRegistration(credential)).toBeNull();
  });
});

describe('readAssertion', () => {
  it('keeps the user handle only when it is text', () => {
    const withHandle = (userHandle: unknown) => ({ ...assertion, response: { ...assertion.response, userHandle } });
    expect(readAssertion(withHandle('VVVV'))?.response.userHandle).toBe('VVVV');
    for (const handle of [null, '', 7, {}])
      expect(readAssertion(withHandle(handle))?.response.userHandle).toBeUndefined();
  });

  it.each(['clientDataJSON', 'authenticatorData', 'signature'])('refuses a response without %s', (field) => {
    expect(readAssertion({ ...assertion, response: { ...assertion.response, [field]: undefined } })).toBeNull();
  });
});

describe('readChallenge', () => {
  const challengeOf = (data: object) => {
    const response = readAssertion({
      ...assertion,
      response: { ...assertion.response, clientDataJSON: clientData(data) },
    });
    return response && readChallenge(response);
  };

  it('returns the signed challenge of a page that is not embedded', () => {
    expect(challengeOf({ challenge: 'abc', crossOrigin: false })).toBe('abc');
    expect(challengeOf({ challenge: 'abc' })).toBe('abc');
  });

  it.each([
    [{ challenge: 'abc', crossOrigin: true }],
    [{ challenge: 'abc', topOrigin: 'https://x' }],
    [{ challenge: 7 }],
    [{}],
  ])('returns null for %j', (data) => {
    expect(challengeOf(data)).toBeNull();
  });

  it('returns null for client data that are no JSON', () => {
    const response = readAssertion(assertion);
    expect(
      response && readChallenge({ ...response, response: { ...response.response, clientDataJSON: 'AAAA' } }),
    ).toBeNull();
  });
});
