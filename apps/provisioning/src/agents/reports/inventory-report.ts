import { createHash } from 'node:crypto';
import {
  flag,
  itemsOf,
  list,
  quantity,
  readFields,
  required,
  text,
  texts,
  day,
  type Reported,
} from './reported-fields.js';

const COUNT = { isWhole: true, max: 1_000_000_000 };

export const HARDWARE = {
  cpuModel: text(),
  cpuCores: quantity(COUNT),
  cpuThreads: quantity(COUNT),
  ramTotalMb: quantity(),
  diskTotalGb: quantity(),
  gpuModel: text(),
  serialNumber: text(),
  manufacturer: text(),
  model: text(),
  motherboardManufacturer: text(),
  motherboardProduct: text(),
  motherboardVersion: text(),
  biosVersion: text(),
};
export type HardwareInfo = Reported<typeof HARDWARE>;

/** A longer list is refused; the first items are stored, with the number of all. */
const MAX_SOFTWARE = 20_000;
const STORED_SOFTWARE = 1_000;
const MAX_DISKS = 500;
const MAX_ADAPTERS = 500;

export const SOFTWARE = {
  software: required(
    list(
      { name: required(text()), version: text(), vendor: text(), installDate: day(), managed: flag() },
      { max: MAX_SOFTWARE, stored: STORED_SOFTWARE },
    ),
  ),
};

export const DISKS = {
  disks: required(
    list(
      { mountPoint: required(text(1_024)), device: text(), fsType: text(64), totalGb: quantity() },
      { max: MAX_DISKS },
    ),
  ),
};

export const NETWORK = {
  adapters: required(
    list(
      {
        interfaceName: required(text()),
        macAddress: text(64),
        ipAddress: text(64),
        ipType: text(32),
        subnetMask: text(64),
        gateway: text(64),
        dnsServers: texts({ max: 20, maxLength: 64 }),
        isPrimary: flag(),
      },
      { max: MAX_ADAPTERS },
    ),
  ),
};

/** A report to store: the values of the columns of its table, and the SHA-256 of them. */
export interface InventoryReport {
  kind: InventoryKind;
  columns: Record<string, string | number>;
  hash: Buffer;
}

export const INVENTORY_KINDS = ['hardware', 'software', 'disks', 'network'] as const;
export type InventoryKind = (typeof INVENTORY_KINDS)[number];

const COLUMNS: Record<InventoryKind, (body: unknown) => Record<string, unknown>> = {
  hardware: (body) => ({ hardware: readFields(HARDWARE, body) }),
  software: (body) => ({ ...readFields(SOFTWARE, body), total: countSoftware(body) }),
  disks: (body) => readFields(DISKS, body),
  network: (body) => readFields(NETWORK, body),
};

/** Reads the body of a report. @throws ValidationError naming the first field that cannot be read */
export const readInventory = (kind: InventoryKind, body: unknown): InventoryReport =>
  toInventoryReport(kind, COLUMNS[kind](body));

/** @param values  of the columns of the table of the report, as they were read */
export function toInventoryReport(kind: InventoryKind, values: object): InventoryReport {
  const columns = Object.entries(values).map(([name, value]): [string, string | number] => [
    name,
    typeof value === 'number' ? value : JSON.stringify(value),
  ]);
  return { kind, columns: Object.fromEntries(columns), hash: hashOf(columns) };
}

/** Returns the SHA-256 of a value by its JSON text; the fields of a report are always in the same order. */
export function hashOf(value: unknown): Buffer {
  return createHash('sha256').update(JSON.stringify(value)).digest();
}

const countSoftware = (body: unknown): number => itemsOf((body as Record<string, unknown>)['software'])?.length ?? 0;
