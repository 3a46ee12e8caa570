import { createDice, type Dice } from './dice.js';

/** A record without a secret, which must be exported. */
export interface OrdinaryRecord {
  kind: string;
  record: object;
}

const list = (text: string): readonly string[] => text.split('|');

const FIRST = list(
  'Ada|Grace|Linus|Margaret|Alan|Jürgen|François|Siobhán|Łukasz|Zoë|Søren|Björn|Ngozi|Hiroshi|Wei|Aoife|Xochitl|Dmitri|Priya|Ananya|Guðrún|Tariq|Noor|Mtshali|Krzysztof|Szczepan|Hrvoje|Bartholomew|Ekaterina|Oluwaseun',
);
const LAST = list(
  "Lovelace|Hopper|Torvalds|Hamilton|Turing|Müller|Lefèvre|O'Connor|Nowak|Brzęczyszczykiewicz|Ó Súilleabháin|van der Berg|Chukwuemeka|Tanaka|Zhang|Nguyen|Kowalczyk|Petrov|Raghunathan|Wojciechowski|Schwarzenegger|Papadopoulos|Featherstonehaugh|Llewellyn-Jones|MacDonald|Password|Secretan|Tokenhouse|Keys|Cardenal",
);
const COMPANY = list(
  'Acme|Globex|Initech|Umbrella|Hooli|Wayne|Stark|Northwind|Contoso|Fabrikam|Tailspin|Adventure Works|Token Ring|Secret Garden|Passwort & Söhne|Key Largo|Credential Insurance|Bearer|AccessKey Locksmiths|Keystone|Monkey Business|Turkey Farms|Passkey Hotels|Vault|Rechtsanwaltskanzlei|Wirtschaftsprüfungsgesellschaft|Zahnarztpraxis',
);
const FORM = list(
  'Ltd|GmbH|Inc.|AG|LLC|S.A.|B.V.|Pty Ltd|GmbH & Co. KG|Sp. z o.o.|s.r.o.|AB|Oy|K.K.|Limited Liability Partnership',
);
const CITY = list(
  'Berlin|München|Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch|Kraków|Zürich|Paris|Reykjavík|São Paulo|Wien|Praha|Chargoggagoggmanchauggagoggchaubunagungamaugg|Newcastle upon Tyne|New York|Győr|Tokyo|Ho Chi Minh City|Winston-Salem|Baden-Baden',
);
const STREET = list(
  'Main Street|Hauptstraße|Rue de la Paix|Ulica Marszałkowska|Broadway|Secret Lane|Token House Yard|Donaudampfschifffahrtsgesellschaftsweg|Via Roma|Passage du Havre|Key West Drive',
);
const VENDOR = list(
  'Microsoft|Adobe|Oracle|Google|Mozilla|JetBrains|VMware|Dell|HP|Lenovo|Intel|NVIDIA|Cisco|Citrix|SAP|Autodesk|Sage|DATEV|Lexware|TeamViewer',
);
const PRODUCT = list(
  'Visual C++ 2015-2022 Redistributable (x64)|Office Professional Plus|Acrobat Reader DC|Java SE Development Kit|Chrome|Firefox ESR|IntelliJ IDEA|Tools|Command Update|Support Assistant|System Update|Graphics Driver|GeForce Experience|AnyConnect Secure Mobility Client|Workspace|Business One|AutoCAD LT|Password Manager|1Password|KeePass Password Safe|Credential Provider|Token Signing Tool|SecretServer Agent|Passwordless Sign-In|LastPass for Applications|API Key Manager|Windows Desktop Runtime|.NET Host FX Resolver|Update for Windows 10 for x64-based Systems (KB5034441)|SQL Server Management Studio|RSA Authentication Token',
);
const PART = list(
  'Windows|Desktop|Runtime|Server|Client|Agent|Remote|Support|Quick|Team|Viewer|Update|Service|Manager|Studio|Visual|Code|Setup|Installer|Backup|Recovery|Network|Monitor|Driver|Audio|Graphics|Express|Enterprise|Professional|Framework|Redistributable|Package|Store|Terminal|Power|Shell|Horizon|Tools|Library|Components|Experience|Extension|Exchange|Outlook|Connector|Gateway|Security|Endpoint|Protection|Antimalware|Platform|Telemetry|Zertifikatsverwaltung|Buchhaltung|Lohnabrechnung|Przelewy|Gestionnaire',
);
const MARK = list(
  'X64|x86|Arm64|V2|v15|2019|2022|2024Q3|RC1|SP2|LTS|Pro|KB5034441|Win10|Win11|R2|U3|21H2|64bit|EN|de_DE|msi|Beta3',
);
const FOLDER = list(
  'Program Files|Windows|System32|drivers|etc|ProgramData|Users|AppData|Local|Temp|opt|usr|share|lib|python3.12|site-packages|node_modules|var|log|DriverStore|FileRepository|WinSxS|Common Files|assembly',
);
const ZONE = list(
  'Europe/Berlin|America/Argentina/ComodRivadavia|UTC|Asia/Tokyo|America/North_Dakota/New_Salem|Australia/Lord_Howe',
);
const HEX = '0123456789abcdef';

/** Sentences about secrets that contain none, and scripts that read one from elsewhere. */
const NOTES = list(
  'Password: see vault|Password is stored in Bitwarden|Ask reception for the Wi-Fi password|Passwort siehe Tresor|Token: issued by reception|Passwords must have 12 characters|Password policy: at least 14 characters|The password is changed every 90 days|Reset your password at https://portal.example/reset-password|Door PIN: ask the janitor|API key: none|password: ********|password = ${DB_PASSWORD}|$password = Read-Host -AsSecureString|$cred = Get-Credential|token = os.environ["API_TOKEN"]|const token = process.env.API_TOKEN;|password: {{ vault.password }}|--password $Password|-Credential $cred|tool --token %TOKEN%|if ($password -eq $null) { exit 1 }|if password == "": exit()|param([string]$ApiKey)|secret: <your secret here>|export TOKEN=$(cat /run/secrets/token)|curl -H "Authorization: Bearer $TOKEN" https://api.example|https://$USER:$PASSWORD@host.example/|Contact: reception, extension 4711|Open 08:00-17:00, key at the neighbour|Monkey = 3|turnkey: yes|Keyboard layout: German|Public key: ask IT|password=$1|apiKey: apiKey,|token: string;|secretName: backup-destination|Get-Secret -Name db|net user guest /active:no|net use Z: \\\\server\\share|mysql -u root -p app|mysql --host=db --port=3306 app|ssh -p 2222 host|Bearer bonds and token rings|key: value|PIN|Passport: required|Authorization: required|compass: north|bypass: enabled',
);

/**
 * Returns records as customers and devices have them: names, addresses, software, versions, identifiers, paths and notes.
 * The same seed returns the same records.
 */
export function ordinaryRecords(count: number, seed = 5_000): OrdinaryRecord[] {
  const create = new OrdinaryText(createDice(seed));
  return Array.from({ length: count }, (_, index) => {
    const [kind, record] = create.record(index);
    return {
      kind,
      record: { ...record, id: create.guid(), orgId: create.guid(), siteId: null, revision: create.hex(64) },
    };
  });
}

class OrdinaryText {
  constructor(private readonly dice: Dice) {}

  record(index: number): [kind: string, record: object] {
    const kinds: [string, () => object][] = [
      [
        'employee',
        () => ({ name: this.fullName(), contact: { name: this.fullName(), email: this.email(), phone: this.phone() } }),
      ],
      ['company', () => ({ name: this.company(), slug: this.slug(), type: 'customer', status: 'active' })],
      ['address', () => ({ name: this.pick(CITY), timezone: this.pick(ZONE), address: this.address(), contact: null })],
      [
        'software',
        () => ({ software: [{ name: this.software(), vendor: this.pick(VENDOR), version: this.version() }] }),
      ],
      ['version', () => ({ name: this.pick(PART), version: this.version(), description: `Release ${this.version()}` })],
      ['MAC address', () => ({ interfaces: [{ name: 'eth0', macAddress: this.mac() }], name: this.mac() })],
      [
        'GUID',
        () => ({
          name: this.guid(),
          externalId: `{${this.guid().toUpperCase()}}`,
          dependencies: [{ id: this.guid() }],
        }),
      ],
      ['path', () => ({ name: this.path(), content: this.path(), exclusions: [this.path(), this.registry()] })],
      ['URL', () => ({ name: this.company(), description: `See ${this.url()}`, homepage: this.url() })],
      [
        'product name',
        () => ({ name: this.productName(), description: this.packageName(), tags: [this.productName()] }),
      ],
      ['host', () => ({ hostname: this.host(), displayName: this.productName(), serialNumber: this.serial() })],
      ['note', () => ({ name: this.pick(PART), description: this.pick(NOTES), contact: { name: this.pick(NOTES) } })],
      [
        'script',
        () => ({
          name: this.software(),
          content: this.script(),
          parameters: [{ name: 'Path', defaultValue: this.path() }],
        }),
      ],
      ['configuration', () => this.configuration()],
    ];
    const [kind, create] = kinds[index % kinds.length];
    return [kind, create()];
  }

  guid(): string {
    return [8, 4, 4, 4, 12].map((length) => this.hex(length)).join('-');
  }

  hex(count: number): string {
    return Array.from({ length: count }, () => HEX.charAt(this.dice(16))).join('');
  }

  private pick(words: readonly string[]): string {
    return words[this.dice(words.length)] ?? '';
  }

  private fullName(): string {
    return `${this.pick(FIRST)} ${this.pick(LAST)}`;
  }

  private company(): string {
    return `${this.pick(COMPANY)} ${this.pick(FORM)}`;
  }

  private slug(): string {
    return `${this.pick(COMPANY)} ${this.pick(PART)} ${this.pick(CITY)}`.toLowerCase().replace(/[^a-z0-9]/g, '-');
  }

  private email(): string {
    const ascii = (text: string) => text.replace(/[^A-Za-z]/g, '').toLowerCase();
    return `${ascii(this.pick(FIRST))}.${ascii(this.pick(LAST))}@${ascii(this.pick(COMPANY))}-${ascii(this.pick(CITY))}.example`;
  }

  private phone(): string {
    return `+${this.dice(99)} ${this.dice(9_999)} ${this.dice(9_999_999)}`;
  }

  private address(): object {
    return {
      line1: `${this.pick(STREET)} ${this.dice(400)}`,
      line2: this.dice(2) ? `Floor ${this.dice(40)}, ${this.fullName()}` : null,
      city: this.pick(CITY),
      region: null,
      postalCode: `${this.hex(2).toUpperCase()}${this.dice(99)} ${this.dice(9)}XY`,
      country: 'DE',
    };
  }

  private software(): string {
    return `${this.pick(VENDOR)} ${this.pick(PRODUCT)} ${this.dice(2) ? this.version() : this.pick(MARK)}`;
  }

  private version(): string {
    const numbers = Array.from({ length: 2 + this.dice(3) }, () => this.dice(30_000)).join('.');
    return (
      numbers +
      this.pick(['', '', '-beta.3', '+build.20240115', '-rc1', '.0-ubuntu22.04~jammy1', ' (Build 22621)', 'esr'])
    );
  }

  private mac(): string {
    return Array.from({ length: 6 }, () => this.hex(2)).join(this.pick([':', '-', '']));
  }

  private serial(): string {
    const serial = Array.from({ length: 7 + this.dice(6) }, () => (HEX + 'XYZPQR').charAt(this.dice(22))).join('');
    return this.pick([serial.toUpperCase(), `VMware-${serial}`, `/${serial}/CN${serial}/`, 'To be filled by O.E.M.']);
  }

  private path(): string {
    const folders = Array.from({ length: 3 + this.dice(5) }, () => this.pick(FOLDER));
    const file = `${this.productName()}.${this.pick(['exe', 'dll', 'log', 'msi', 'py', 'conf'])}`;
    return this.pick([
      `C:\\${folders.join('\\')}\\${file}`,
      `/${folders.join('/').replaceAll(' ', '_')}/${file}`,
      `\\\\${this.host()}\\${folders[0]}$\\${file}`,
    ]);
  }

  private registry(): string {
    return `HKLM\\SOFTWARE\\${this.pick(VENDOR)}\\${this.productName()}\\{${this.guid()}}\\Uninstall`;
  }

  private host(): string {
    return `${this.pick(PART)}-${this.pick(MARK)}-${this.dice(99)}.${this.pick(PART)}.corp.example`.toLowerCase();
  }

  private url(): string {
    const query = this.dice(2)
      ? `?page=${this.dice(9)}&id=${this.guid()}`
      : '#installation-instructions-for-administrators';
    return `https://${this.host()}/${this.slug()}/${this.productName()}${query}`;
  }

  /** Long names without blanks, with the characters of Base64: words, numbers and abbreviations. */
  private productName(): string {
    const parts = Array.from({ length: 3 + this.dice(5) }, () => this.pick(this.dice(4) ? PART : MARK));
    return this.pick(VENDOR) + parts.join(this.pick(['', '', '', '_', '-', '.', '+']));
  }

  private packageName(): string {
    return this.pick([
      `Microsoft.${this.pick(PART)}${this.pick(PART)}_${this.version().split(/[-+ ]/)[0]}_x64__8wekyb3d8bbwe`,
      `com.${this.pick(VENDOR).toLowerCase()}.${this.pick(PART).toLowerCase()}.${this.pick(PART).toLowerCase()}.${this.productName()}`,
      `Package_for_KB${this.dice(9_999_999)}~31bf3856ad364e35~amd64~~19041.${this.dice(9_999)}.1.${this.dice(9)}`,
      `prod-${this.hex(8)}.vs_filters.${this.productName()}`,
      `ghcr.io/${this.slug()}:${this.version()}`,
      `CN=${this.productName()},OU=Workstations,OU=${this.pick(CITY)},DC=corp,DC=example`,
    ]);
  }

  private script(): string {
    return [
      '#!/usr/bin/env bash',
      `# ${this.fullName()}, ${this.company()}`,
      `readonly INSTALLER="${this.path()}"`,
      this.pick(NOTES),
      `msiexec /i "${this.productName()}.msi" /qn /norestart TRANSFORMS=${this.pick(PART)}.mst`,
      `if [ "$(uname -m)" = "x86_64" ]; then echo ${this.productName()}; fi`,
      `expected="sha256:${this.hex(64)}" # checksum`,
      this.pick(NOTES),
    ].join('\n');
  }

  private configuration(): object {
    return {
      name: `${this.pick(PART)} policy`,
      features: [
        {
          type: 'passwordPolicy',
          policyId: this.guid(),
          settings: {
            passwordMinLength: 14,
            passwordExpiresAt: '2026-01-01T00:00:00Z',
            passwordRequired: true,
            passwordPolicy: this.pick(PART),
            tokenLifetimeMinutes: 30,
            secretName: this.slug(),
            maxTokens: 4_096,
            password: null,
            apiKey: '',
            credentialId: this.guid(),
            token: '********',
            keyboardLayout: 'de-DE',
            monkey: this.pick(PART),
            bypass: 'yes',
          },
        },
      ],
    };
  }
}
