import { generateKeyPairSync } from 'node:crypto';
import { API_KEY_PREFIX, PARTNER_KEY_PREFIX } from '@rmm/secrets';
import { createDice, type Dice } from './dice.js';

/** A record that must be withheld. */
export interface SecretSample {
  kind: string;
  record: object;
}

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
const HEX = `${DIGITS}abcdef`;
const WORD = LOWER + UPPER + DIGITS;
const URL_SAFE = `${WORD}-_`;
const BASE64 = `${WORD}+/`;

const FIELD_NAMES = [
  ...[
    'password',
    'Password',
    'PASSWORD',
    'passwd',
    'pwd',
    'pass',
    'passphrase',
    'passcode',
    'userPassword',
    'db_password',
  ],
  ...[
    'admin-password',
    'AdminPassword',
    'passwordHash',
    'password_value',
    'newPassword',
    'oldPassword',
    'passwordOfAdmin',
  ],
  ...[
    'wifi_psk',
    'smtpPass',
    'ftp_pass',
    'passWord',
    'pass_word',
    'Passwort',
    'kennwort',
    'contraseña',
    'senha',
    'wachtwoord',
  ],
  ...[
    'secret',
    'clientSecret',
    'client_secret',
    'CLIENT_SECRET',
    'secretText',
    'webhookSecret',
    'sharedSecret',
    'secretForVpn',
  ],
  ...[
    'token',
    'accessToken',
    'access_token',
    'refreshToken',
    'X-Auth-Token',
    'authToken',
    'botToken',
    'apitoken',
    'tokenValue',
  ],
  ...[
    'apiKey',
    'api_key',
    'API-KEY',
    'apikey',
    'ApiKey2',
    'xApiKey',
    'googleApiKey',
    'privateKey',
    'private_key',
    'sshKey',
  ],
  ...[
    'secretKey',
    'aws_secret_access_key',
    'accessKey',
    'encryptionKey',
    'signingKey',
    'masterKey',
    'recoveryKey',
    'sharedKey',
  ],
  ...[
    'accountKey',
    'preSharedKey',
    'credential',
    'credentials',
    'creds',
    'dbCredentials',
    'connectionString',
    'authorization',
  ],
  ...['bearer', 'jwt', 'snmpCommunity', 'communityString', 'mnemonic', 'seedPhrase', 'credentialData', 'passwordHint'],
];

/** Prefix, number of characters after it, their alphabet, and what follows. */
const ISSUED: readonly [kind: string, prefix: string, count: number, alphabet: string, suffix?: string][] = [
  ['AWS access key id', 'AKIA', 16, UPPER + DIGITS],
  ['AWS temporary key id', 'ASIA', 16, UPPER + DIGITS],
  ['Google API key', 'AIza', 35, URL_SAFE],
  ['Google access token', 'ya29.', 60, URL_SAFE],
  ['Google HMAC key', 'GOOG1', 24, UPPER + DIGITS],
  ['Alibaba access key id', 'LTAI', 20, WORD],
  ['Tencent secret id', 'AKID', 32, WORD],
  ['DigitalOcean token', 'dop_v1_', 64, HEX],
  ['Databricks token', 'dapi', 32, HEX],
  ['GitHub token', 'ghp_', 36, WORD],
  ['GitHub app token', 'ghs_', 36, WORD],
  ['GitHub fine-grained token', 'github_pat_', 60, WORD],
  ['GitLab token', 'glpat-', 20, URL_SAFE],
  ['GitLab runner token', 'glrt-', 20, URL_SAFE],
  ['Slack bot token', 'xoxb-', 40, DIGITS + LOWER],
  ['Stripe key', 'sk_live_', 24, WORD],
  ['Stripe restricted key', 'rk_test_', 24, WORD],
  ['webhook secret', 'whsec_', 32, BASE64],
  ['SendGrid key', 'SG.', 22, URL_SAFE, `.${'q7'.repeat(12)}`],
  ['Twilio key', 'SK', 32, HEX],
  ['npm token', 'npm_', 36, WORD],
  ['PyPI token', 'pypi-', 60, URL_SAFE],
  ['RubyGems key', 'rubygems_', 48, HEX],
  ['Docker token', 'dckr_pat_', 27, URL_SAFE],
  ['Vault token', 'hvs.', 30, URL_SAFE],
  ['Hugging Face token', 'hf_', 34, WORD],
  ['model provider key', 'sk-ant-', 40, URL_SAFE],
  ['model project key', 'sk-proj-', 40, URL_SAFE],
  ['Shopify token', 'shpat_', 32, HEX],
  ['Mailgun key', 'key-', 32, DIGITS + LOWER],
  ['Telegram token', '123456789:AA', 33, URL_SAFE],
  ['Square token', 'sq0atp-', 22, URL_SAFE],
  ['Linear key', 'lin_api_', 40, WORD],
  ['Postman key', 'PMAK-', 24, HEX],
  ['Atlassian token', 'ATATT3', 40, URL_SAFE],
  ['New Relic key', 'NRAK-', 27, UPPER + DIGITS],
  ['Brevo key', 'xkeysib-', 64, HEX],
  ['age key', 'AGE-SECRET-KEY-1', 58, UPPER + DIGITS],
  ['key of ours', API_KEY_PREFIX, 32, URL_SAFE],
  ['partner key of ours', PARTNER_KEY_PREFIX, 43, URL_SAFE],
  ['JWT', 'eyJ', 40, URL_SAFE, `.eyJ${'zdWI'.repeat(8)}.c2lnbmF0dXJl`],
  ['bcrypt hash', '$2b$12$', 53, WORD],
  ['crypt hash', '$6$saltsalt$', 86, WORD],
  ['Azure storage key', 'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=', 86, BASE64, '=='],
  ['Azure service bus key', 'Endpoint=sb://a.example/;SharedAccessKeyName=n;SharedAccessKey=', 43, BASE64, '='],
  ['Azure SAS', 'https://a.example/c?sv=2022-11-02&sig=', 43, WORD, '%3D'],
  ['Slack webhook', 'https://hooks.slack.com/services/T01ABCDEF/B01ABCDEF/', 24, WORD],
  ['Discord webhook', 'https://discord.com/api/webhooks/123456789012345678/', 68, URL_SAFE],
];

/** `@` is replaced by a chosen password. */
const TEXTS = [
  ...[
    'password=@',
    'password: @',
    'Password = "@"',
    "pwd='@'",
    'PASSWORD=swordfish',
    'Password: swordfish',
    'passwd:@',
  ],
  ...['wifi password: @', 'Wi-Fi password is @', 'Passwort: @', 'Das Passwort lautet @', 'Kennwort=@', 'contraseña: @'],
  ...[
    'senha: @',
    'wachtwoord: @',
    'mot de passe : @',
    'The admin password is @.',
    'login admin, password @',
    'PIN code: 48151623a',
  ],
  ...['api_key=@', 'apiKey: "@"', 'API key: @', 'api-key=@', 'X-Api-Key: @', '"apiKey":"@"', "{'client_secret': '@'}"],
  ...[
    'export API_TOKEN=@',
    'set TOKEN=@',
    'setx DB_PASSWORD "@"',
    '$env:API_KEY = "@"',
    "$password = '@'",
    'let token = "@";',
  ],
  ...['const secret = `@`;', 'my_secret := "@"', '"token" => "@"', 'private string Password = "@";'],
  ...[
    'access key: @',
    'secret key = @',
    'secret access key: @',
    'encryption key=@',
    'shared key: @',
    'Recovery key: @',
  ],
  ...[
    'Server=db;User Id=sa;Password=@;',
    'Data Source=x;Pwd=@;Encrypt=yes',
    'redis.auth_token=@',
    'spring.datasource.password=@',
  ],
  ...[
    'Authorization: Bearer 2YotnFZFEjr1zCsicMWpAA',
    'Authorization: Basic YWRtaW46aHVudGVyMg==',
    'curl -H "X-Auth-Token: @"',
  ],
  ...[
    'curl -u admin:@ https://a.example',
    'curl --user admin:@ https://a.example',
    'net user admin @ /add',
    'net.exe user bob @',
  ],
  ...[
    'sshpass -p @ ssh root@host',
    'sshpass -p"@" ssh host',
    'mysql -u root -p@ app',
    'mysqldump --single-transaction -p@ app',
  ],
  ...["CREATE USER a IDENTIFIED BY '@'", "ALTER ROLE a WITH PASSWORD '@'", 'ALTER LOGIN sa WITH PASSWORD = "@"'],
  ...[
    'ConvertTo-SecureString "@" -AsPlainText -Force',
    "ConvertTo-SecureString -String '@' -AsPlainText",
    '"@" | ConvertTo-SecureString',
  ],
  ...[
    'setup.exe --password @',
    'agent install --token @',
    'tool --api-key=@',
    'Invoke-X -Password "@"',
    'x /password:@ /quiet',
  ],
  ...[
    'msiexec /i a.msi /qn PASSWORD=@',
    'msiexec /i a.msi ACCESSTOKEN="@"',
    'SNMP community string: @',
    'wifi psk: @',
    'WPA key: @',
  ],
  ...[
    'user root, passcode: @',
    'passphrase="correct horse battery staple"',
    'Pre-shared key=@',
    'VPN secret: @ (change yearly)',
  ],
  ...[
    'Admin pw: @',
    'pw=@',
    'Wifi pass: blueberry77',
    'Kennwort ist Sommer2024!',
    'DB_PASS=s3cr3tpw',
    'MYSQL_ROOT_PASSWORD: @',
  ],
  ...[
    'schtasks /create /tn x /tr y /ru admin /rp @',
    'psexec \\\\srv -u admin -p @ cmd',
    'net use Z: \\\\srv\\share @ /user:a',
  ],
  ...[
    'echo "@" | sudo -S apt update',
    'echo root:@ | chpasswd',
    'htpasswd -b file user @',
    'cmdkey /add:srv /user:admin /pass:@',
  ],
  ...[
    'openssl enc -aes-256-cbc -k @ -in a',
    'openssl aes-256-cbc -pass pass:@ -in a',
    'zip -P @ a.zip b',
    '7z x a.7z -p@',
  ],
  ...[
    'snmp-server community s3cret RO',
    'set psk ascii-text "@"',
    'wpa_passphrase=@',
    'Authorization: ApiKey 8d7f6a5b4c3d2e1f',
  ],
  ...[
    'Authorization: token 8d7f6a5b4c3d2e1f',
    'key 123456-234567-345678-456789-567890-678901-789012-890123',
    'SIM PIN: 4711',
  ],
];

const URLS = [
  ...[
    'https://admin:@@a.example',
    'http://@@a.example/x',
    'ftp://bob:@@files.example/pub',
    'postgres://app:@@db:5432/app',
  ],
  ...['redis://:@@cache:6379', 'amqp://guest:@@mq', 'mongodb+srv://u:@@c.example/db', 'smb://domain;bob:@@nas/share'],
  ...[
    'jdbc:mysql://root:@@db/app',
    'git clone https://oauth2:@@git.example/a.git',
    'see rtsp://cam:@@10.0.0.9/stream1 for it',
  ],
  ...['nats://token-@@nats:4222'],
];

/** Secrets of at least these kinds are found; each record has the shape of a real one. */
export function secretSamples(): SecretSample[] {
  const dice = createDice(20_260);
  const random = (count: number, alphabet: string) => randomText(dice, count, alphabet);
  const chosen = (text: string) => text.replaceAll('@', 'Summ3r!24').replaceAll('Summ3r!24Summ3r!24', 'Summ3r!24@');
  const site = (text: string) => ({
    name: 'Main Office',
    timezone: 'UTC',
    address: null,
    contact: { name: text, email: null },
  });
  const sample = (kind: string, record: object): SecretSample => ({ kind, record });
  return [
    ...FIELD_NAMES.map((name) => sample(`field ${name}`, { name: 'Policy', settings: { [name]: 'hunter2' } })),
    ...fieldShapes(),
    ...privateKeys().map(([kind, text]) => sample(kind, { name: 'Script', content: `#!/bin/sh\n${text}\nexit 0\n` })),
    ...ISSUED.flatMap(([kind, prefix, count, alphabet, suffix = '']) => [
      sample(kind, site(`${prefix}${random(count, alphabet)}${suffix}`)),
      sample(`${kind} in a sentence`, {
        name: 'Key',
        description: `use ${prefix}${random(count, alphabet)}${suffix} here`,
      }),
    ]),
    ...TEXTS.map((text) => sample(`text ${text}`, { name: 'Script', content: `# setup\n${chosen(text)}\nexit 0` })),
    ...TEXTS.slice(0, 30).map((text) => sample(`contact ${text}`, site(chosen(text)))),
    ...URLS.map((url) => sample(`URL ${url}`, site(chosen(url)))),
    ...randomRuns(random).map(([kind, text]) => sample(kind, site(text))),
  ];
}

/** Secrets that are recognized by the place of a value. */
function fieldShapes(): SecretSample[] {
  return [
    { kind: 'number', record: { settings: { pin: 4_711 } } },
    { kind: 'numeric password', record: { settings: { wifiPassword: 12_345_678 } } },
    {
      kind: 'value of a custom field',
      record: { name: 'Wi-Fi password', fieldKey: 'wifi', type: 'text', value: 'sommer' },
    },
    {
      kind: 'value by its field key',
      record: { name: 'Guest', fieldKey: 'guest_password', type: 'text', value: 'sommer' },
    },
    {
      kind: 'default of a definition',
      record: { name: 'API key', fieldKey: 'k', type: 'text', defaultValue: 'sommer' },
    },
    { kind: 'parameter', record: { parameters: [{ name: 'AdminPassword', type: 'text', defaultValue: 'sommer' }] } },
    { kind: 'header', record: { actions: [{ headers: [{ name: 'Authorization', value: 'abc' }] }] } },
    { kind: 'object', record: { settings: { credentials: { user: 'root', word: 'toor' } } } },
    { kind: 'list', record: { settings: { tokens: ['abc', 'def'] } } },
    { kind: 'list of objects', record: { features: [{ settings: { vpn: { secrets: [{ for: 'x', is: 'y' }] } } }] } },
    { kind: 'key of a map', record: { metadata: { [`ghp_${'aB3'.repeat(12)}`]: true } } },
  ];
}

function privateKeys(): [string, string][] {
  const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { privateKey: ed } = generateKeyPairSync('ed25519');
  const pkcs8 = ec.export({ type: 'pkcs8', format: 'pem' }).toString();
  const sec1 = ec.export({ type: 'sec1', format: 'pem' }).toString();
  const sealed = ec.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }).toString();
  const named = (name: string) => `-----BEGIN ${name}-----\nMIIEpAIBAAKCAQEA\n-----END ${name}-----`;
  return [
    ['PKCS 8 key', pkcs8],
    ['EC key', sec1],
    ['encrypted key', sealed],
    ['Ed25519 key', ed.export({ type: 'pkcs8', format: 'pem' }).toString()],
    ['key on one line', pkcs8.replaceAll('\n', '\\n')],
    ['key in Base64', Buffer.from(pkcs8).toString('base64')],
    ['EC key in Base64', Buffer.from(sec1).toString('base64')],
    ['RSA key', named('RSA PRIVATE KEY')],
    ['DSA key', named('DSA PRIVATE KEY')],
    ['OpenSSH key', named('OPENSSH PRIVATE KEY')],
    ['PGP key', named('PGP PRIVATE KEY BLOCK')],
    ['PuTTY key', 'PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none'],
    ['XML key', '<RSAKeyValue><Modulus>AQAB</Modulus><P>AQAB</P><D>AQAB</D></RSAKeyValue>'],
  ];
}

function randomRuns(random: (count: number, alphabet: string) => string): [string, string][] {
  const kinds: [string, () => string][] = [
    ['letters and digits, 32', () => random(32, WORD)],
    ['letters and digits, 40', () => random(40, WORD)],
    ['letters and digits, 64', () => random(64, WORD)],
    ['Base64, 32 bytes', () => `${random(43, BASE64)}=`],
    ['Base64, 64 bytes', () => `${random(86, BASE64)}==`],
    ['Base64 for URLs, 43', () => random(43, URL_SAFE)],
    ['hex, 32', () => random(32, HEX)],
    ['hex, 40', () => random(40, HEX)],
    ['hex, 64', () => random(64, HEX)],
    ['upper-case hex, 32', () => random(32, HEX).toUpperCase()],
    ['Base32, 32', () => random(32, `${UPPER}234567`)],
    ['small letters and digits, 40', () => random(40, LOWER + DIGITS)],
    ['letters, 48', () => random(48, LOWER + UPPER)],
    ['after a prefix', () => `production-${random(24, WORD)}`],
    ['before a suffix', () => `${random(24, WORD)}-production`],
    ['in a path', () => `https://a.example/hooks/${random(32, WORD)}/run`],
    ['in a query', () => `https://a.example/run?code=${random(40, WORD)}`],
    ['in a sentence', () => `Ask for ${random(40, WORD)} at the desk`],
  ];
  return kinds.flatMap(([kind, create]) => [1, 2].map((n): [string, string] => [`random ${kind} (${n})`, create()]));
}

function randomText(dice: Dice, count: number, alphabet: string): string {
  return Array.from({ length: count }, () => alphabet.charAt(dice(alphabet.length))).join('');
}
