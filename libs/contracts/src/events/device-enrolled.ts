/** `data` of `device.enrolled`. @see CONTRACT.md 8.2 */
export interface DeviceEnrolled {
  deviceId: string;
  hostname: string;
  osType: 'windows' | 'macos' | 'linux';
  siteId: string | null;
  enrollmentKeyId: string | null;
  agentVersion: string | null;
}
