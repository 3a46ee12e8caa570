/** The demo: who there is. Roles are named as GET /roles names them. */
export const PARTNERS = [
  {
    name: 'Northwind IT Services',
    domain: 'northwind.example',
    admin: 'Nora Winter',
    staff: [
      { name: 'Theo Tech', role: 'Partner Technician', orgAccess: 'all' },
      { name: 'Vera View', role: 'Partner Viewer', orgAccess: 'selected' },
      { name: 'Bill Byrne', role: 'Partner Billing', orgAccess: 'all' },
      { name: 'Rita Reader', role: 'Partner Billing Viewer', orgAccess: 'all' },
      { name: 'Sam Secure', role: 'Partner Security Approver', orgAccess: 'all' },
    ],
    organizations: [
      'Blue Bakery',
      'Harbour Dental',
      'Oak & Sons Law',
      'Pine Logistics',
      'Sunrise Schools',
      'Tidewater Inn',
    ],
  },
  {
    name: 'Alpine Managed IT',
    domain: 'alpine.example',
    admin: 'Anton Alp',
    staff: [{ name: 'Tessa Tal', role: 'Partner Technician', orgAccess: 'all' }],
    organizations: ['Bergbahn AG', 'Chalet Hotels', 'Dorf Apotheke', 'Edelweiss Print', 'Firn Sports', 'Gipfel Bank'],
  },
];

/** Members of the first organization of the first partner. */
export const MEMBERS = [
  { name: 'Olga Owner', role: 'Org Admin' },
  { name: 'Toni Turner', role: 'Org Technician' },
  { name: 'Vito Viewer', role: 'Org Viewer' },
  { name: 'Alma Approver', role: 'Security Approver' },
];

export const SITES = ['Head Office', 'Warehouse'];

/** Devices of each organization, spread over its sites. */
export const DEVICES = [
  { hostname: 'dc-01', osType: 'windows', osVersion: 'Windows Server 2022', architecture: 'amd64' },
  { hostname: 'desk-01', osType: 'windows', osVersion: 'Windows 11', architecture: 'amd64' },
  { hostname: 'mac-01', osType: 'macos', osVersion: '15.1', architecture: 'arm64' },
  { hostname: 'edge-01', osType: 'linux', osVersion: 'Debian 12', architecture: 'amd64' },
];

export const WEBHOOK_EVENTS = ['device.*', 'alert.*'];
