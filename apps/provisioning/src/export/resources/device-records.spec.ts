import { toDeviceInventory, toDeviceRelationships, toDeviceSoftware } from './device-records.js';

const at = new Date('2026-03-01T12:00:00Z');
const row = {
  ...{ id: 'd-1', deviceId: 'd-1', orgId: 'o-1', siteId: 's-1', updatedAt: at, sourceUpdatedAt: at },
  ...{ record: null, isPartnerWide: false },
};
const adapters = [
  { interfaceName: 'eth0', macAddress: 'aa', ipAddress: '10.0.0.2', ipType: 'DHCP', dnsServers: ['10.0.0.1'] },
  { interfaceName: 'eth0', ipAddress: 'fe80::1', isPrimary: true },
  { interfaceName: 'lo' },
];

describe('toDeviceInventory', () => {
  it('returns hardware, disks, interfaces and addresses as the agent reported them', () => {
    const inventory = toDeviceInventory({
      ...row,
      hardware: { cpuModel: 'i7', ramTotalMb: 16_000 },
      disks: [{ mountPoint: '/', fsType: 'ext4' }],
      adapters,
    });
    expect(inventory).toMatchObject({
      subjectType: 'device',
      deviceId: 'd-1',
      hardware: {
        processor: { model: 'i7', cores: null },
        memory: { totalMb: 16_000 },
        firmware: { biosVersion: null },
      },
      disks: [{ mountPoint: '/', device: null, fileSystem: 'ext4', totalGb: null }],
      interfaces: [
        { name: 'eth0', macAddress: 'aa', primary: true },
        { name: 'lo', macAddress: null, primary: null },
      ],
      addresses: [
        { interfaceName: 'eth0', address: '10.0.0.2', family: 'ipv4', assignment: 'dhcp', dnsServers: ['10.0.0.1'] },
        { address: 'fe80::1', family: 'ipv6', assignment: 'link-local', gateway: null },
      ],
      collections: {
        disks: { total: 1 },
        interfaces: { total: 2 },
        addresses: { total: 2 },
        virtualMachines: { total: 0 },
      },
    });
  });

  it('gives equal items ids of their own, the same in every page', () => {
    const given = { ...row, hardware: null, disks: [{ mountPoint: '/' }, { mountPoint: '/' }], adapters };
    const first = toDeviceInventory(given);
    expect(toDeviceInventory(given)).toEqual(first);
    if (first.subjectType !== 'device') throw new Error('not a device');
    const ids = [...first.disks, ...first.interfaces, ...first.addresses].map(({ id }) => id);
    expect(new Set(ids).size).toBe(6);
    expect(first.addresses[0].interfaceId).toBe(first.interfaces[0].id);
  });

  it('returns the published record in its place', () => {
    const record = { subjectType: 'device', deviceId: 'd-1' };
    expect(toDeviceInventory({ ...row, record, hardware: null, disks: null, adapters: null })).toBe(record);
  });

  it('cuts collections by number and by size, with the number of all', () => {
    const disks = Array.from({ length: 501 }, (_, n) => ({ mountPoint: `/${n}` }));
    const inventory = toDeviceInventory({ ...row, hardware: null, disks, adapters: null });
    expect(inventory).toMatchObject({ disks: { length: 500 }, collections: { disks: { total: 501 } } });
    const long = Array.from({ length: 400 }, (_, n) => ({ mountPoint: `${n}`.padEnd(1_000, 'x') }));
    const large = toDeviceInventory({ ...row, hardware: null, disks: long, adapters: null });
    expect(JSON.stringify(large).length).toBeLessThan(160_000);
    expect(large).toMatchObject({ collections: { disks: { total: 400 } } });
  });
});

describe('toDeviceSoftware', () => {
  it('returns the reported software with the number of all', () => {
    const software = [
      { name: 'Editor', version: '1', installDate: '2026-01-31' },
      { name: 'Editor', version: '1' },
    ];
    const result = toDeviceSoftware({ ...row, software, total: 1_200 });
    expect(result).toMatchObject({
      deviceId: 'd-1',
      software: [{ name: 'Editor', installedOn: '2026-01-31', vendor: null, managed: null }, { installedOn: null }],
      collection: { total: 1_200 },
    });
    expect(new Set(result.software.map(({ id }) => id)).size).toBe(2);
    expect(toDeviceSoftware({ ...row, software: null, total: null })).toMatchObject({
      software: [],
      collection: { total: 0 },
    });
  });
});

describe('toDeviceRelationships', () => {
  it('connects organization, site, device, interfaces and addresses', () => {
    const { edges, collection } = toDeviceRelationships({ ...row, adapters });
    expect(edges.map(({ type }) => type)).toEqual([
      ...['organization_site', 'site_device', 'device_interface', 'device_interface'],
      ...['interface_address', 'interface_address'],
    ]);
    expect(edges[1]).toEqual({
      key: 'site_device:s-1:d-1',
      type: 'site_device',
      from: { type: 'site', id: 's-1' },
      to: { type: 'device', id: 'd-1' },
      metadata: {},
    });
    expect(edges[4].from).toEqual(edges[2].to);
    expect([collection, new Set(edges.map(({ key }) => key)).size]).toEqual([{ total: 6 }, 6]);
    expect(toDeviceRelationships({ ...row, siteId: null, adapters: null }).edges).toEqual([]);
  });
});
