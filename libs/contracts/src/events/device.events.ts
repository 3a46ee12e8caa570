/** `data` of `device.enrolled`. @see docs/reference/events.md */
export interface DeviceEnrolled {
  deviceId: string;
  hostname: string;
  osType: 'windows' | 'macos' | 'linux';
  siteId: string | null;
  enrollmentKeyId: string | null;
  agentVersion: string | null;
}

/** `data` of `device.online`: the first heartbeat of a device that was not online. */
export interface DeviceOnline {
  deviceId: string;
  hostname: string;
  agentVersion: string | null;
  status: 'online';
}

/** `data` of `device.offline`: no heartbeat for `DEVICE_OFFLINE_AFTER_SECONDS`. */
export interface DeviceOffline {
  deviceId: string;
  hostname: string;
  displayName: string | null;
  /** ISO 8601; null for a device that never sent one. */
  lastSeenAt: string | null;
}

/** `data` of `device.decommissioned`: a user removed the device; its agent token is revoked. */
export interface DeviceDecommissioned {
  deviceId: string;
  hostname: string;
  /** The id of the user. */
  decommissionedBy: string | null;
}

/** `data` of `device.updated`: the names of the changed fields and the new value of each. */
export interface DeviceUpdated {
  deviceId: string;
  hostname: string;
  fields: ('agentVersion' | 'customFields' | 'displayName' | 'siteId' | 'tags' | 'status')[];
  agentVersion?: string | null;
  /** The changed keys only: the values are the customer's own data. */
  customFields?: string[];
  displayName?: string | null;
  siteId?: string | null;
  tags?: string[];
  status?: string;
}
