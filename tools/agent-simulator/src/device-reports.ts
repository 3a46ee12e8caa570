/** A device that is invented, always the same for its number. */
export interface SimulatedDevice {
  hostname: string;
  osType: 'windows' | 'macos' | 'linux';
  osVersion: string;
  architecture: 'amd64' | 'arm64';
  agentVersion: string;
  deviceRole: 'workstation' | 'server';
  hardwareInfo: Record<string, string | number>;
}

const SYSTEMS = [
  { osType: 'windows', osVersion: 'Windows 11 Pro 23H2', architecture: 'amd64', name: 'desk' },
  { osType: 'windows', osVersion: 'Windows Server 2022', architecture: 'amd64', name: 'srv' },
  { osType: 'macos', osVersion: '14.5', architecture: 'arm64', name: 'mac' },
  { osType: 'linux', osVersion: 'Debian GNU/Linux 13', architecture: 'amd64', name: 'web' },
] as const;
const MODELS = ['Latitude 5440', 'OptiPlex 7010', 'EliteBook 840 G10', 'ThinkPad T14'];
const SOFTWARE = ['7-Zip', 'Firefox', 'LibreOffice', 'Notepad++', 'VLC media player', 'Zoom'];
const AGENT_VERSION = '1.4.0';
const DAY_SECONDS = 86_400;

/** @param series  keeps the names of several simulations apart */
export function createDevice(series: string, number: number): SimulatedDevice {
  const { name, ...system } = pick(SYSTEMS, number);
  const serialNumber = `SIM-${series}-${number}`;
  return {
    ...system,
    hostname: `${name}-${series}-${String(number).padStart(5, '0')}`,
    agentVersion: AGENT_VERSION,
    deviceRole: name === 'srv' || name === 'web' ? 'server' : 'workstation',
    hardwareInfo: {
      ...{ cpuModel: 'Intel Core i7-1365U', cpuCores: 10, cpuThreads: 12, ramTotalMb: 16_384, diskTotalGb: 512 },
      ...{ serialNumber, manufacturer: 'Example', model: pick(MODELS, number), biosVersion: '1.12.0' },
    },
  };
}

/** Returns the inventory by the last part of the path of its request. */
export function inventoryOf({ hardwareInfo, osType }: SimulatedDevice, number: number): Record<string, object> {
  const isWindows = osType === 'windows';
  const address = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
  return {
    hardware: hardwareInfo,
    software: {
      software: SOFTWARE.map((name, at) => ({
        name,
        version: `${1 + ((number + at) % 9)}.0`,
        vendor: `${name} project`,
      })),
    },
    disks: {
      disks: [
        { mountPoint: isWindows ? 'C:' : '/', device: 'disk0', fsType: isWindows ? 'NTFS' : 'ext4', totalGb: 512 },
      ],
    },
    network: {
      adapters: [
        {
          ...{ interfaceName: 'eth0', macAddress: macAddressOf(number), ipAddress: address, ipType: 'ipv4' },
          ...{ subnetMask: '255.0.0.0', gateway: '10.0.0.1', dnsServers: ['10.0.0.53'], isPrimary: true },
        },
      ],
    },
  };
}

/** Returns a posture report with products that differ from device to device. */
export function postureOf({ osType }: SimulatedDevice, number: number, collectedAt: Date): object {
  const status = number % 7 === 0 ? 'installed' : 'active';
  const joined = osType === 'windows' && number % 3 !== 0;
  return {
    collectedAt: collectedAt.toISOString(),
    scanDurationMs: 800 + (number % 400),
    categories: {
      antivirus: [{ name: osType === 'windows' ? 'Microsoft Defender' : 'ClamAV', version: '4.18', status }],
      backup: number % 4 === 0 ? [] : [{ name: 'Veeam Agent', version: '6.1', status: 'active', serviceName: 'veeam' }],
    },
    identity: {
      ...{ joinType: joined ? 'domain' : 'none', azureAdJoined: false, domainJoined: joined },
      ...{ workplaceJoined: false, source: 'simulator' },
    },
  };
}

/** Returns the metrics of one moment, which change like those of a device in use. */
export function metricsOf(number: number, seconds: number): Record<string, number> {
  const wave = (period: number, low: number, high: number) => {
    const share = (1 + Math.sin((2 * Math.PI * seconds) / period + number)) / 2;
    return Math.round((low + share * (high - low)) * 10) / 10;
  };
  return {
    cpuPercent: wave(600, 2, 85),
    ramPercent: wave(3_600, 35, 90),
    diskPercent: wave(30 * DAY_SECONDS, 40, 80),
    processCount: Math.round(wave(1_800, 180, 320)),
    networkInMbps: wave(300, 0, 20),
    networkOutMbps: wave(420, 0, 5),
  };
}

function pick<T>(values: readonly [T, ...T[]] | readonly T[], number: number): T {
  return values[number % values.length];
}

const macAddressOf = (number: number): string =>
  ['02', '00', '00', ...[16, 8, 0].map((bits) => ((number >> bits) & 255).toString(16).padStart(2, '0'))].join(':');
