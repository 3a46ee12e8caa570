import { Device } from './devices/device.entity.js';
import { ExternalLink } from './organizations/external-link.entity.js';
import { OrganizationSecurityCopy } from './organizations/organization-security.entity.js';
import { Organization } from './organizations/organization.entity.js';
import { Site } from './sites/site.entity.js';

/** Every entity of the service. */
export const ENTITIES = [Organization, OrganizationSecurityCopy, ExternalLink, Site, Device];
