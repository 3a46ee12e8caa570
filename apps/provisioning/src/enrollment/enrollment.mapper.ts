import { AGENT_CONFIG } from '../agents/agent.config.js';
import type { EnrolledDevice } from './device-enrollment.service.js';
import type { EnrolledDto } from './dto/enrolled.dto.js';

/** Maps an enrolled device; the fields of features that do not exist yet are null or empty. */
export const toEnrolledDto = ({ agentId, deviceId, authToken, orgId, siteId }: EnrolledDevice): EnrolledDto => ({
  agentId,
  deviceId,
  authToken,
  watchdogAuthToken: null,
  helperAuthToken: null,
  orgId,
  siteId,
  backupServerUrl: null,
  config: AGENT_CONFIG,
  mtls: null,
  manifestTrustKeys: [],
  manifestKeyDelegations: [],
});
