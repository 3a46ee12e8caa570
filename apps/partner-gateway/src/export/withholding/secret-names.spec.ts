import { isNumericSecretName, isSecretFieldName, isSecretLabel } from './secret-names.js';

describe('isSecretFieldName', () => {
  it.each(['password', 'dbPassword', 'API_KEY', 'x-api-key', 'HTTPToken', 'passwordOfAdmin', 'Contraseña', 'wifiPsk'])(
    'is true for %s',
    (name) => {
      expect(isSecretFieldName(name)).toBe(true);
      expect(isSecretFieldName(name)).toBe(true);
    },
  );

  it.each([
    ...['passwordMinLength', 'passwordExpiresAt', 'tokenLifetimeMinutes', 'secretName', 'credentialId', 'tokenizer'],
    ...[
      'secretary',
      'keyboard',
      'monkey',
      'turkey',
      'bypass',
      'compass',
      'passthroughDisks',
      'pinned',
      'revision',
      'key',
    ],
    ...['fieldKey', 'assetTag', 'passwordless', 'hostname', 'encryption', 'keychain', 'authorizationPolicy', ''],
  ])('is false for %s', (name) => {
    expect(isSecretFieldName(name)).toBe(false);
  });

  it('reads the end of a long name', () => {
    expect(isSecretFieldName(`${'x'.repeat(100_000)}Password`)).toBe(true);
  });
});

describe('isSecretLabel', () => {
  it.each(['Wi-Fi password', 'The API key', 'Admin-Passwort', 'mot de passe', 'pre-shared key', 'Token 2'])(
    'is true for %s',
    (label) => expect(isSecretLabel(label)).toBe(true),
  );

  it.each(['Password manager', 'Secret Santa budget', 'Token ring adapter', 'Floor', ''])('is false for %s', (label) =>
    expect(isSecretLabel(label)).toBe(false),
  );
});

it('a number is a secret only where passwords are numbers', () => {
  expect(['pin', 'gatePin', 'wifiPassword'].every(isNumericSecretName)).toBe(true);
  expect(['maxTokens', 'token', 'secrets', 'apiKey'].some(isNumericSecretName)).toBe(false);
});
