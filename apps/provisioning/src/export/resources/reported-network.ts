import type { ExportedDeviceInventory } from '@rmm/contracts';
import { itemIds, stableId } from './collections.js';

/** An adapter as agents report it: one address of an interface, or an interface without an address. */
export interface ReportedAdapter {
  interfaceName: string;
  macAddress?: string;
  ipAddress?: string;
  ipType?: string;
  subnetMask?: string;
  gateway?: string;
  dnsServers?: string[];
  isPrimary?: boolean;
}

type DeviceInventory = Extract<ExportedDeviceInventory, { subjectType: 'device' }>;
export type NetworkInterface = DeviceInventory['interfaces'][number];
export type Address = DeviceInventory['addresses'][number];

const LINK_LOCAL = /^(?:fe[89ab][0-9a-f]:|169\.254\.)/i;
const REPORTED_ASSIGNMENTS: readonly string[] = ['dhcp', 'static', 'vpn', 'link-local'];

/** Returns the interfaces of a device by name, and their addresses. */
export function readNetwork(
  deviceId: string,
  adapters: readonly ReportedAdapter[],
): { interfaces: NetworkInterface[]; addresses: Address[] } {
  const interfaces = new Map<string, NetworkInterface>();
  const addresses: Address[] = [];
  const addressId = itemIds(deviceId, 'address');
  for (const adapter of adapters) {
    const { interfaceName: name, macAddress, isPrimary } = adapter;
    const id = stableId('interface', deviceId, name);
    const known = interfaces.get(name) ?? { id, name, macAddress: null, primary: null };
    known.macAddress ??= macAddress ?? null;
    if (isPrimary !== undefined) known.primary = known.primary === true || isPrimary;
    interfaces.set(name, known);
    if (adapter.ipAddress !== undefined) {
      addresses.push(
        toAddress(addressId(name, adapter.ipAddress), known, { ...adapter, ipAddress: adapter.ipAddress }),
      );
    }
  }
  return { interfaces: [...interfaces.values()], addresses };
}

function toAddress(
  id: string,
  { id: interfaceId, name }: NetworkInterface,
  { ipAddress, ipType, subnetMask, gateway, dnsServers }: ReportedAdapter & { ipAddress: string },
): Address {
  return {
    id,
    interfaceId,
    interfaceName: name,
    address: ipAddress,
    family: ipAddress.includes(':') ? 'ipv6' : 'ipv4',
    assignment: assignmentOf(ipAddress, ipType),
    reservationEligible: null,
    subnetMask: subnetMask ?? null,
    gateway: gateway ?? null,
    dnsServers: dnsServers ?? [],
    active: true,
    firstSeenAt: null,
    deactivatedAt: null,
  };
}

function assignmentOf(address: string, reported: string | undefined): Address['assignment'] {
  const word = reported?.toLowerCase();
  if (word !== undefined && REPORTED_ASSIGNMENTS.includes(word)) return word as Address['assignment'];
  return LINK_LOCAL.test(address) ? 'link-local' : 'unknown';
}
